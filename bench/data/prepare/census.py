"""American Community Survey 2024, one year: samples of the adults in housing units of 48 states and the capital."""

import zipfile

import numpy as np
import pandas as pd

# By the number of the state (FIPS), which is also the order of the rows; without California and Texas.
STATES = [
    "al", "ak", "az", "ar", "co", "ct", "de", "dc", "fl", "ga", "hi", "id", "il", "in", "ia", "ks", "ky", "la",
    "me", "md", "ma", "mi", "mn", "ms", "mo", "mt", "ne", "nv", "nh", "nj", "nm", "ny", "nc", "nd", "oh", "ok",
    "or", "pa", "ri", "sc", "sd", "tn", "ut", "vt", "va", "wa", "wv", "wi", "wy",
]  # fmt: skip
SIZES, SEED = {"acs2024_fm_370k.parquet": 370_000, "acs2024_fm_20k.parquet": 20_000}, 20240370
# Middles of the ranges of years of category 1 to 7; the last is "30 years or more".
YEARS = {1: 0.5, 2: 1.5, 3: 3.0, 4: 7.0, 5: 15.0, 6: 25.0, 7: 35.0}
PERSON = ["SERIALNO", "AGEP", "SEX", "MAR", "SCHL", "DIS", "NATIVITY", "WKHP", "PINCP", "RAC1P", "COW", "HICOV"]
HOUSEHOLD = ["SERIALNO", "NP", "MV", "TEN", "NPF", "BDSP"]


def read(folder):
    """All adults, and the first rows of an order that NumPy's generator draws."""
    adults = pd.concat([_state(folder, state) for state in STATES], ignore_index=True)
    order = np.random.default_rng(SEED).permutation(len(adults))
    return {name: adults.iloc[order[:size]].reset_index(drop=True) for name, size in SIZES.items()}


def _state(folder, state):
    """The adults of one state, in the order of its file."""
    persons = _rows(folder / f"csv_p{state}.zip", [*PERSON, ("STATE", "ST")])
    # People in hostels, barracks and prisons have no housing unit: no row with people in it.
    homes = _rows(folder / f"csv_h{state}.zip", [*HOUSEHOLD, "TYPEHUGQ"])
    homes = homes[(homes["TYPEHUGQ"] == 1) & (homes["NP"] > 0)]
    minors = (persons["AGEP"] < 18).groupby(persons["SERIALNO"]).sum().rename("minors")
    everyone = persons.merge(homes, on="SERIALNO").join(minors, on="SERIALNO")
    return _columns(everyone[everyone["AGEP"] >= 18])


def _rows(path, names):
    """Columns of the one table in an archive; a pair is a column with two names over the years."""
    with zipfile.ZipFile(path) as archive:
        (table,) = (name for name in archive.namelist() if name.endswith(".csv"))
        with archive.open(table) as file:
            header = pd.read_csv(file, nrows=0).columns
        chosen = [name if isinstance(name, str) else next(each for each in name if each in header) for name in names]
        with archive.open(table) as file:
            frame = pd.read_csv(file, usecols=chosen, dtype={"SERIALNO": str})
    return frame.rename(columns={"ST": "STATE"})


def _columns(rows):
    """The attributes of Zhang et al. (2012), as far as the survey has them."""
    whole = {
        "Age": rows["AGEP"],
        "Male": rows["SEX"] == 1,
        "IsSingle": rows["MAR"] == 5,
        "IsMarried": rows["MAR"] == 1,
        "Education": rows["SCHL"],
        "Disability": rows["DIS"] == 1,
        "Native": rows["NATIVITY"] == 1,
        "WorkHours": rows["WKHP"].fillna(0),
        "YearsResiding": rows["MV"].map(YEARS),
        "OwnsDwelling": rows["TEN"].isin([1, 2]),
        "FamilySize": rows["NPF"].fillna(1),
        "NumChildren": rows["minors"],
        "NumBedrooms": rows["BDSP"],
        "AnnualIncome": rows["PINCP"].fillna(0),
        "State": rows["STATE"],
        "Race": rows["RAC1P"],
        "ClassOfWorker": rows["COW"].fillna(0),
        "HealthInsured": rows["HICOV"] == 1,
    }
    wider = {"YearsResiding": "float32", "AnnualIncome": "int32"}
    return pd.DataFrame({name: values.astype(wider.get(name, "int8")) for name, values in whole.items()})
