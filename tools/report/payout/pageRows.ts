/** Rows of a page of the table. The file has the first page as HTML, for readers without scripts. */
export const PAGE_ROWS = 500
