import { createHash } from 'node:crypto'
import type { ChainNames } from './model/lane.js'
import type { Model } from './model/model.js'
import { PROBLEMS } from './model/problem.js'
import { sentencesOf } from './model/summary.js'
import { counted, duration, number, utc } from './model/words.js'
import { pack } from './pack.js'
import type { Payload } from './payload.js'
import { escapeHtml } from './payout/text.js'
import { STYLE } from './style.js'

/** Identifies a file as a report, which the command may overwrite. */
export const REPORT_MARK = '<meta name="generator" content="txlane report">'

export type PageParts = {
  readonly title: string
  readonly model: Model
  /** Names and explorers of the chains that viem knows. */
  readonly chains: ChainNames
  readonly script: string
}

/**
 * Renders a self-contained page: it contains script, style and data, and its policy blocks other resources.
 * Only our script runs, by its hash.
 */
export function renderPage({ title, model, chains, script }: PageParts): string {
  const code = script.replaceAll(/<\/(script)/gi, '<\\/$1').trim()
  const payload = pack(model, chains)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
${REPORT_MARK}
<meta http-equiv="Content-Security-Policy" content="${policy(code)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} · txlane report</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>${escapeHtml(title)}</h1>
<button type="button" id="theme" hidden>Dark</button>
</header>
<main>
${body(sentencesOf(model.summary, chains), model, payload)}
</main>
<footer>${footer(model)}</footer>
<script type="application/json" id="data">${escapeJson(JSON.stringify(payload))}</script>
<script>${code}</script>
</body>
</html>
`
}

function policy(code: string): string {
  const hash = createHash('sha256').update(code).digest('base64')
  // The page sets inline styles on the elements that it creates.
  return `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'`
}

const STATES_HINT = `<p class="hint">The most serious kind is first. A case is repaired when the normal state was restored, final when no further event can change it, noted when no further event is expected, and still open when the recording shows no end.</p>
`

// A time is not split between lines.
const UTC = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/g

function body(sentences: readonly string[], model: Model, payload: Payload): string {
  const { transactions, transactionsInAll, unfinishedInAll } = payload
  const words = `<section aria-label="Summary"><p id="summary">${sentences.map(escapeHtml).join(' ').replaceAll(UTC, '<time>$&</time>')}</p><div id="lanes"></div></section>`
  const some =
    transactions.length < transactionsInAll
      ? ` The page has ${number(transactions.length)} of ${number(transactionsInAll)} transactions: those with problems, and an even selection of the others. The figures cover all transactions.`
      : ''
  const hasFaults = payload.groups.some(({ kind }) => PROBLEMS[kind].role === 'fault')
  const { binMs = 0 } = model.throughput ?? {}
  const unfinished =
    unfinishedInAll === 0
      ? ''
      : `
<section aria-labelledby="unfinished-title">
<h2 id="unfinished-title">${counted(unfinishedInAll, 'transaction')} not finished</h2>
<div id="unfinished"></div>
</section>`
  const charts =
    transactions.length === 0
      ? ''
      : `
<section aria-labelledby="nonces-title">
<h2 id="nonces-title">Nonces over time</h2>
<p class="hint">Each row is a nonce; each bar is a stage of its transaction. Point at a row for its history, and click to keep it open. Drag across the chart, turn the wheel with Ctrl, or spread two fingers, to zoom.${some}</p>
<div class="tools" id="tools"></div>
<div class="split"><div><div class="chart tall" id="nonces"></div><p class="hidden" id="status" role="status"></p></div><div id="history"></div></div>
<div id="all"></div>
</section>
<div class="pair">
<section aria-labelledby="latency-title"><h2 id="latency-title">Latency</h2><p class="hint">Time from the send to the first event of the stage, for transactions whose send was recorded. A stage that no event reported is not measured: a block may have a transaction before an endpoint accepts it. Each bin is a quarter wider than the one before; dashed lines are medians.</p><div class="chart" id="latency"></div><div id="spreads"></div></section>
<section aria-labelledby="throughput-title"><h2 id="throughput-title">Throughput</h2><p class="hint">Transactions per second, in steps of ${binMs <= 1_000 ? 'one second' : duration(binMs)}.<span id="above"></span></p><div class="chart" id="throughput"></div></section>
</div>`
  return `${words}${unfinished}${charts}
<section aria-labelledby="fault-title">
<h2 id="fault-title">What went wrong</h2>
${hasFaults ? STATES_HINT : ''}<div id="fault"></div>
</section>
<section aria-labelledby="repair-title"><h2 id="repair-title">What txlane repaired</h2><div id="repair"></div></section>
<section aria-labelledby="asked-title"><h2 id="asked-title">What the caller asked for</h2><div id="asked"></div></section>
<noscript><p>The charts and tables need JavaScript. The summary above has the main results.</p></noscript>`
}

function footer({ book, summary }: Model): string {
  const { recording } = summary
  const began = book.startedAt === undefined ? '' : ` since ${utc(book.startedAt)}`
  const runs = recording.sessions > 0 ? ` of ${counted(recording.sessions, 'run')} of a recorder` : ''
  const sentences = [
    `The recording has ${counted(recording.events, 'event')}${runs}${began}.`,
    ...(recording.packages.length > 0 ? [`It was written by txlane ${recording.packages.join(', ')}.`] : []),
    ...(recording.unknownEvents > 0
      ? [
          `${counted(recording.unknownEvents, 'event')} of a newer version ${recording.unknownEvents === 1 ? 'is' : 'are'} left out.`,
        ]
      : []),
    'All times are in UTC.',
  ]
  return escapeHtml(sentences.join(' '))
}

/** JSON for a script element: no text in it can end the element or open a comment. */
function escapeJson(json: string): string {
  return json
    .replaceAll('<', '\\u003c')
    .replaceAll('>', '\\u003e')
    .replaceAll('&', '\\u0026')
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029')
}
