// Okabe and Ito's colours, which are distinguishable with every kind of colour vision. On dark ground the too
// dark ones are lighter.
const LIGHT = `
--ground: #ffffff; --raised: #f6f7f9; --line: #d5d9e0; --text: #16191f; --quiet: #565d6b; --accent: #0b5cad;
--queued: #8a8f99; --signed: #d98e00; --accepted: #3fa2dd; --preconfirmed: #008f68; --sealed: #0072b2;
--ended: #c04a00; --fault: #c04a00; --repair: #8c3f8c; --band: rgba(192, 74, 0, .13); --zoom: rgba(11, 92, 173, .12);`
const DARK = `
--ground: #14171c; --raised: #1d2128; --line: #363c47; --text: #e8eaee; --quiet: #a3abb9; --accent: #7ab8ff;
--queued: #8f96a3; --signed: #f0b13c; --accepted: #6cc3f5; --preconfirmed: #2fc294; --sealed: #4b9fe8;
--ended: #ff8a4c; --fault: #ff8a4c; --repair: #dc8fdc; --band: rgba(255, 138, 76, .17); --zoom: rgba(122, 184, 255, .16);`

/** The page's style. Light or dark follows the system, unless the user chose one. */
export const STYLE = `
:root { color-scheme: light; ${LIGHT} }
@media (prefers-color-scheme: dark) { :root:not([data-theme="light"]) { color-scheme: dark; ${DARK} } }
:root[data-theme="dark"] { color-scheme: dark; ${DARK} }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 88rem; padding: 0 1.25rem 2rem; background: var(--ground); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
header { display: flex; align-items: center; justify-content: space-between; gap: 1rem; padding: 1rem 0 .25rem; }
h1 { font-size: 1.3rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 0 0 .1rem; }
h3 { font-size: .95rem; margin: .9rem 0 .2rem; overflow-wrap: anywhere; }
section { margin: 0 0 1.9rem; min-width: 0; }
time, .nowrap { white-space: nowrap; }
#summary { max-width: 62rem; margin: .4rem 0 0; font-size: 1.05rem; }
.hint, footer, caption, .count { color: var(--quiet); font-size: .86rem; }
.hint { margin: 0 0 .5rem; }
footer { border-top: 1px solid var(--line); padding-top: .7rem; overflow-wrap: anywhere; }
.empty { border: 1px dashed var(--line); border-radius: 8px; padding: 2.5rem 1rem; text-align: center; color: var(--quiet); }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.chart { height: 300px; min-width: 0; position: relative; overflow: hidden; }
.chart.tall { height: 480px; }
.uplot, .uplot * { box-sizing: border-box; }
.uplot { width: min-content; }
.u-wrap { position: relative; user-select: none; }
.u-over, .u-under, .u-axis { position: absolute; }
.u-under { overflow: hidden; }
.uplot canvas { display: block; position: relative; width: 100%; height: 100%; }
.u-select { background: var(--zoom); position: absolute; pointer-events: none; }
.u-cursor-x, .u-cursor-y, .u-cursor-pt, .u-off { display: none; }
.split { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0 1.25rem; }
.split > div { min-width: 0; }
.split.open { grid-template-columns: minmax(0, 1fr) 27rem; }
.pair { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0 2rem; }
.tools, .legend { display: flex; flex-wrap: wrap; gap: .5rem .9rem; align-items: start; margin: 0 0 .4rem; font-size: .9rem; }
.tools form { display: flex; gap: .4rem; }
.tools input { flex: 1; min-width: 0; }
.search { flex: 0 1 26rem; }
.answer { margin: .25rem 0 0; font-size: .86rem; overflow-wrap: anywhere; }
.answer:empty { display: none; }
.answer.none { color: var(--fault); font-weight: 600; }
.zoom { display: flex; gap: .3rem; }
.legend { gap: .2rem .35rem; margin: .2rem 0; }
.legend button { background: none; border-color: transparent; padding: .05rem .4rem; font-size: .84rem; }
.legend button[aria-pressed="false"] { text-decoration: line-through; color: var(--quiet); }
.legend button[aria-pressed="false"] .key { opacity: .3; }
.key { display: inline-block; min-width: 1.1em; margin-right: .25em; }
button, input, select { font: inherit; font-size: .9rem; color: inherit; background: var(--raised); border: 1px solid var(--line);
  border-radius: 6px; padding: .25rem .65rem; max-width: 100%; }
button { cursor: pointer; }
button:hover { border-color: var(--quiet); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
a { color: var(--accent); }
button.link { border: 0; background: none; padding: 0; color: var(--accent); text-align: left; overflow-wrap: anywhere; }
button.link:hover { text-decoration: underline; }
button.copy { padding: 0 .4rem; font-size: .74rem; margin-left: .4rem; vertical-align: 1px; color: var(--quiet); white-space: nowrap; }
.lanes { list-style: none; margin: .5rem 0 0; padding: 0; font-size: .9rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .87rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .28rem .9rem .28rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; white-space: nowrap; }
th button { border: 0; background: none; padding: 0; font-weight: 600; }
th[aria-sort="ascending"] button::after { content: " ↑"; }
th[aria-sort="descending"] button::after { content: " ↓"; }
td.number, th.number { text-align: right; white-space: nowrap; }
td:last-child, th:last-child { padding-right: 0; }
h3:focus { outline: none; }
h4 { margin: .8rem 0 .1rem; font-size: .87rem; }
td.time, td.event { white-space: nowrap; }
td.name { min-width: 7rem; overflow-wrap: anywhere; }
code { font: .92em/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.state-open { color: var(--fault); }
strong.state-open, span.state-open { font-weight: 600; }
.dot { display: inline-block; width: .62em; height: .62em; border-radius: 50%; margin-right: .4em; }
details { margin: .3rem 0; }
summary { cursor: pointer; padding: .2rem 0; font-size: .9rem; color: var(--accent); }
details.kind { border-top: 1px solid var(--line); margin: 0; }
details.kind > summary { display: grid; grid-template-columns: 1rem 8.5rem minmax(0, 1fr) auto; gap: 0 .6rem; color: inherit; padding: .4rem 0;
  list-style: none; }
details.kind > summary::-webkit-details-marker { display: none; }
details.kind > summary::before { content: "▸"; color: var(--quiet); }
details.kind[open] > summary::before { content: "▾"; }
details.kind > div { padding: 0 0 .8rem 1.6rem; }
.what { color: var(--quiet); }
#history { max-height: 560px; overflow-y: auto; border-left: 1px solid var(--line); padding-left: 1rem; }
#history:empty { display: none; }
#history .top { display: flex; justify-content: space-between; align-items: start; gap: .5rem; }
#history h3 { margin: 0; }
#history .hint { margin: .1rem 0 .3rem; }
#history td, #history th { padding-right: .6rem; }
#tip { position: fixed; z-index: 10; pointer-events: none; max-width: min(24rem, 92vw); padding: .5rem .7rem; font-size: .84rem;
  background: var(--ground); border: 1px solid var(--line); border-radius: 8px; box-shadow: 0 4px 18px rgba(0, 0, 0, .22); }
#tip strong { overflow-wrap: anywhere; }
#tip td, #tip th { padding: .05rem .7rem .05rem 0; border: 0; }
@media (max-width: 70rem) { .split.open { grid-template-columns: minmax(0, 1fr); }
  #history { max-height: none; border-left: 0; padding: .6rem 0 0; } }
@media (max-width: 52rem) { .pair { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 34rem) { body { padding: 0 .8rem 1.5rem; } .chart.tall { height: 400px; } .chart { height: 260px; }
  .search { flex: 1 1 100%; } .wide { display: none; } td, th { padding-right: .6rem; } td.name { min-width: 5rem; }
  details.kind > summary { grid-template-columns: 1rem minmax(0, 1fr); } .what, .cases { grid-column: 2; }
  details.kind > div { padding-left: 0; } }
@media print { :root:root:root { color-scheme: light; print-color-adjust: exact; ${LIGHT} } body { max-width: none; padding: 0; font-size: 10pt; }
  #theme, .tools, .copy, p > button, #tip, .legend button[aria-pressed="false"], noscript, #all { display: none; }
  #nonces-title + .hint { display: none; }
  .uplot, .u-wrap { width: 100% !important; height: auto !important; } .chart, .chart.tall { height: auto; } .u-over, .u-under { display: none; }
  .uplot canvas { height: auto; } .scroll { overflow: visible; } th, td { padding-right: .5rem; }
  #history { max-height: none; } .split.open { grid-template-columns: minmax(0, 1fr); }
  h2, summary, .legend, .hint { break-after: avoid; } #spreads, .hint { break-inside: avoid; } tr, .chart { break-inside: avoid; } a { color: inherit; text-decoration: none; } }
`
