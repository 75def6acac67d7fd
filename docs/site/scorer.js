// The order of search results: entries of the index (subjects.toml), pages for users, then the reference, and last what
// developers and referees read.
var Scorer = {
  score: ([page, _title, _anchor, _description, score, _file, kind]) => {
    if (/^(develop|proofs|papers)\b|^(genindex|py-modindex)$/.test(page)) return score - 1000;
    if (/^use\//.test(page)) return score + 4;
    return /^reference\/api\//.test(page) && kind !== "object" ? score - 2 : score;
  },
  objNameMatch: 40,
  objPartialMatch: 6,
  objPrio: {0: 15, 1: 5, 2: -5},
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
