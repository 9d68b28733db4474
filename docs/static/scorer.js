// Order of the results of the search: pages and sections with that title, then concepts, tables of
// equations and guides before the entries of the reference that only contain the word.
const FOLDERS = { textbook: 6, concepts: 7, start: 3, guides: 3, notebooks: 2, appendices: -3 };

var Scorer = {
  score: ([page, title, , , score, , kind]) =>
    score
    + (FOLDERS[page.split("/")[0]] ?? 0)
    + (kind !== "title" ? 0 : title.includes(" > ") ? 4 : 20),
  objNameMatch: 11, // the last part of a name
  objPartialMatch: 3, // a part of it
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
