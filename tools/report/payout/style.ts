const LIGHT = `--ground: #ffffff; --raised: #f5f6f8; --line: #d5d9e0; --text: #16191f; --quiet: #565d6b; --accent: #0b5cad;
--good: #00694c; --bad: #a83a00; --good-ground: #e6f4ee; --bad-ground: #fdeee5;`
const DARK = `--ground: #14171c; --raised: #1d2128; --line: #363c47; --text: #e8eaee; --quiet: #a9b1bf; --accent: #7ab8ff;
--good: #4fd1a5; --bad: #ff9d68; --good-ground: #12302a; --bad-ground: #3a2318;`

const BASE = `
:root { color-scheme: light; ${LIGHT} }
@media screen and (prefers-color-scheme: dark) { :root { color-scheme: dark; ${DARK} } }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 84rem; padding: 0 1.25rem 2rem; background: var(--ground); color: var(--text);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 1.4rem 0 .6rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2rem 0 .4rem; }
h3 { font-size: 1rem; margin: 1.1rem 0 .2rem; color: var(--bad); }
p { margin: .3rem 0 .6rem; max-width: 60rem; }
a { color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
.hint, footer, small, .sub { color: var(--quiet); }
.hint, footer { font-size: .9rem; }
small, .sub { font-size: .86em; }
footer { border-top: 1px solid var(--line); margin-top: 2rem; padding-top: .6rem; overflow-wrap: anywhere; }
.unseen { position: absolute; width: 1px; height: 1px; margin: -1px; padding: 0; border: 0; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
#verdict { font-size: 1.1rem; font-weight: 600; padding: .55rem .9rem; border-radius: 8px; border-left: 6px solid; max-width: none; }
#verdict.good { color: var(--good); background: var(--good-ground); }
#verdict.bad { color: var(--bad); background: var(--bad-ground); }
#verdict.good::before { content: "✓ "; }
#verdict.bad::before { content: "! "; font-weight: 800; }
dl { margin: 1rem 0 .6rem; }
dl > div { display: grid; grid-template-columns: 8rem minmax(0, 1fr); padding: .22rem 0; }
dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; }
th, td { text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
thead th { font-weight: 600; border-bottom: 2px solid var(--line); vertical-align: bottom; }
tbody th { font-weight: 400; }
td small, th small, td .sub { display: block; }
.unit small { white-space: nowrap; }
#totals { width: auto; margin-top: 1.2rem; }
#totals td, #totals th { padding-right: 2.5rem; }
#totals tbody th { font-weight: 600; }
#totals tbody small { font-weight: 400; }
#totals td .sum { font-size: 1.2rem; font-weight: 600; }
#totals td.bad .sum { color: var(--bad); }
.line { white-space: nowrap; overflow-wrap: normal; }
tbody .line { color: var(--quiet); }
code { white-space: nowrap; }
.amount, .fee { text-align: right; }
.sum:not(.long), .time, td.fee { overflow-wrap: normal; }
.to b { display: block; font-weight: 600; }
.id, .note { display: block; }
.note { color: var(--quiet); }
.id + .note { font-size: .94em; }
td.time { white-space: nowrap; }
.state { white-space: nowrap; font-weight: 600; }
tr.paid .state { color: var(--good); }
tr.paid .state::before { content: "✓ "; }
tr.unpaid .state, tr.unsure .state { color: var(--bad); }
tr.unpaid .state::before { content: "✗ "; }
tr.unsure .state::before { content: "? "; }
.key { white-space: nowrap; }
.hex { font: .92em ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
i.code { font: .8em ui-monospace, Menlo, Consolas, monospace; border: 1px solid var(--bad); color: var(--bad); border-radius: 3px; padding: 0 .2em; }
button, input, select { font: inherit; color: inherit; background: var(--raised); border: 1px solid var(--line); border-radius: 6px; padding: .35rem .7rem; max-width: 100%; }
button { cursor: pointer; }
button:hover { border-color: var(--quiet); }
button[aria-disabled="true"] { opacity: .45; cursor: default; }
button.copy { position: relative; width: 1.5rem; height: 1.35rem; padding: 0; margin-left: .2rem; border: 0; background: none; vertical-align: middle; }
button.copy::before, button.copy::after { content: ""; position: absolute; width: .55rem; height: .65rem; border: 1.5px solid var(--quiet); border-radius: 2px; background: var(--ground); }
button.copy::before { left: .35rem; top: .2rem; }
button.copy::after { left: .58rem; top: .42rem; }
button.copy:hover::before, button.copy:hover::after { border-color: var(--accent); }
button.copied::before { display: none; }
button.copied::after { content: "✓"; border: 0; background: none; color: var(--good); left: .35rem; top: -.1rem; width: auto; height: auto; font-weight: 700; }
#tools { display: flex; flex-wrap: wrap; gap: .5rem 1.2rem; margin: .5rem 0; }
#tools label { display: flex; align-items: center; gap: .5rem; }
#search { width: 24rem; }
th button { border: 0; background: none; padding: 0; font-weight: 600; text-align: inherit; }
th button:hover { text-decoration: underline; }
th[aria-sort="ascending"] button::after { content: " ↑"; }
th[aria-sort="descending"] button::after { content: " ↓"; }
#lines thead th { position: sticky; top: 0; background: var(--ground); }
#pages { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem .7rem; margin: .8rem 0; }
`

const WIDE = `
@media screen and (min-width: 62.01rem) {
  td.amount, th.amount { padding-right: 1.6rem; }
  #lines .amount { width: 12.5rem; }
  #lines .for { width: 26%; }
  #problems table { table-layout: fixed; }
  #problems .line { width: 4rem; }
  #problems .to { width: 15rem; }
  #problems .for { width: 18rem; }
  #problems .amount { width: 13rem; }
}
@media screen and (min-width: 62.01rem) and (max-width: 76rem) {
  #lines, #problems table { font-size: .84rem; }
  #lines th:not(.amount), #lines td:not(.amount) { padding-right: .6rem; }
  #lines .amount { padding-right: 1.1rem; }
  #lines .for { width: 18%; }
  #lines .amount { width: 10rem; }
  #problems .to { width: 10rem; }
  #problems .for, #problems .amount { width: 9.5rem; }
}
`

// Cards instead of rows: a recipient and an amount, and the rest below.
const PHONE = `
@media screen and (max-width: 62rem) {
  body { padding: 0 .9rem 1.5rem; }
  h1 { font-size: 1.25rem; margin-top: 1rem; }
  dl > div { grid-template-columns: 6.2rem minmax(0, 1fr); }
  table, tbody, thead, tr, th, td, caption { display: block; }
  table, #totals { width: 100%; }
  #totals thead, #problems thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  th, td, thead th, #totals td, #totals th { border: 0; padding: 0; max-width: none; }
  tbody tr { border-bottom: 1px solid var(--line); padding: .6rem 0; }
  #lines, #problems table { font-size: .9rem; }
  #lines th, #lines td, #problems th, #problems td { width: auto; padding: 0; }
  #lines tbody tr, #problems tbody tr { padding: .6rem 0; display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: .15rem .8rem; }
  #lines tbody tr > *, #problems tbody tr > * { grid-column: 1 / -1; }
  #lines tbody .line, #problems tbody .line { grid-area: 1 / 1; font-size: .86rem; }
  #lines tbody .line::before, #problems tbody .line::before { content: "Line "; }
  #lines tbody .status { grid-area: 1 / 2; text-align: right; }
  #lines tbody .to, #problems tbody .to { grid-area: 2 / 1; }
  #lines tbody .amount, #problems tbody .amount { grid-area: 2 / 2; max-width: 46vw; font-weight: 600; }
  #lines td.time, #lines td.fee, #lines td.tx { font-size: .86rem; color: var(--quiet); text-align: left; }
  #lines td.time:not(:empty)::after { content: " UTC"; }
  #lines td.fee:not(:empty)::before { content: "Fee " ; }
  #lines td.fee { grid-column: 2; grid-row: 4; text-align: right; }
  #lines td.time { grid-column: 1; grid-row: 4; }
  #lines td.tx small, #lines td.tx .key { display: inline; }
  #totals td[data-label]::before { content: attr(data-label) ": "; color: var(--quiet); }
  #totals td small { display: inline; }
  #lines thead tr { display: flex; flex-wrap: wrap; align-items: center; gap: .35rem .6rem; padding-bottom: .5rem; border-bottom: 2px solid var(--line); }
  #lines thead tr::before { content: "Sort by"; color: var(--quiet); font-size: .9rem; }
  #lines thead th { position: static; }
  th button { border: 1px solid var(--line); background: var(--raised); padding: .3rem .6rem; font-weight: 400; }
  th[aria-sort] button { border-color: var(--accent); }
  #tools label, #search { width: 100%; flex: 1; }
  #tools label:first-child { flex-basis: 100%; }
  input, select { font-size: 16px; }
  button.copy { width: 2.2rem; height: 1.9rem; }
  button.copy::before { left: .7rem; top: .45rem; }
  button.copy::after { left: .93rem; top: .67rem; }
  button.copied::after { left: .7rem; top: .1rem; }
}
`

const PRINT = `
@page { size: landscape; margin: 12mm 12mm 15mm;
  @bottom-left { content: "Payment report by txlane"; font: 8pt system-ui, sans-serif; color: #565d6b; }
  @bottom-right { content: "Page " counter(page) " of " counter(pages); font: 8pt system-ui, sans-serif; color: #565d6b; } }
@media print {
  body { max-width: none; padding: 0; font-size: 9.5pt; }
  h1 { margin-top: 0; }
  h2, h3 { break-after: avoid; }
  #tools, #pages, button.copy, noscript { display: none; }
  table { font-size: 8pt; }
  thead { display: table-header-group; }
  tr, dl > div, #verdict { break-inside: avoid; }
  #verdict { border: 1px solid; border-left-width: 6px; }
  #lines thead th { position: static; }
  /* A browser does not repeat a button at the top of each sheet. */
  th button { display: none; }
  #lines thead th::before { content: attr(data-title); }
  #lines, #problems table { table-layout: fixed; }
  td.amount, th.amount { padding-right: 5mm; }
  #lines .line, #problems .line { width: 5%; }
  #lines .to { width: 16.5%; } #lines .for { width: 16%; } #lines .amount { width: 13.5%; } #lines .status { width: 8.5%; }
  #lines .time { width: 10.5%; white-space: normal; } #lines .tx { width: 22.5%; } #lines .fee { width: 7.5%; }
  #problems .to, #problems .for { width: 23%; } #problems .amount { width: 14%; }
  a { color: inherit; text-decoration: none; }
  .key { white-space: normal; }
  .hex { font-size: 7.5pt; }
  .hex span { display: none; }
  .hex::before { content: attr(title); overflow-wrap: anywhere; }
  p { orphans: 3; widows: 3; }
}
`

/** The style of the page: for screens in light and dark, for phones, and for paper. */
export const STYLE = `${BASE}${WIDE}${PHONE}${PRINT}`
