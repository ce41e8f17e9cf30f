/** The expected result of a sweep in which everything happened once and as reported. */
export const HELD = {
  ok: true,
  duplicates: 0,
  lost: 0,
  gaps: 0,
  foreign: 0,
  contradictions: 0,
  failures: 0,
  problems: [],
}
