// The order of search results: pages for users, then the reference, then what developers and referees read.
var Scorer = {
  score: ([page, _title, _anchor, _description, score, _file, kind]) => {
    if (/^(develop|proofs|papers)\//.test(page) || page === "genindex") return score - 1000;
    if (/^reference\/.*generated|^reference\/dplr/.test(page)) return kind === "object" ? score : score - 4;
    return score + (/^(use|install|index)/.test(page) ? 2 : 0);
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
