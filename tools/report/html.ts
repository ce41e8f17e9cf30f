import { createHash } from 'node:crypto'
import type { Model } from './model/model.js'
import { duration, number } from './model/words.js'
import { pack } from './pack.js'
import type { Payload } from './payload.js'
import { STYLE } from './style.js'

/** Identifies a file as a report, which the command may overwrite. */
export const REPORT_MARK = '<meta name="generator" content="txlane report">'

export type PageParts = { readonly title: string; readonly model: Model; readonly script: string }

/**
 * Renders a self-contained page: it contains script, style and data, and its policy blocks other resources.
 * Only our script runs, by its hash.
 */
export function renderPage({ title, model, script }: PageParts): string {
  const code = script.replaceAll(/<\/(script)/gi, '<\\/$1').trim()
  const payload = pack(model)
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
${body(model, payload)}
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
  // The plotting library sets inline styles on the elements that it creates.
  return `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'`
}

function body(model: Model, { transactions, transactionsInAll, problems }: Payload): string {
  const words = `<section aria-label="Summary"><p id="summary">${model.sentences.map(escapeHtml).join(' ')}</p></section>`
  if (transactions.length === 0 && problems.length === 0) {
    return `${words}<p class="empty">There is nothing to draw.</p>`
  }
  const some =
    transactions.length < transactionsInAll
      ? ` The page shows ${number(transactions.length)} of ${number(transactionsInAll)} transactions: those with problems, and an even selection of the others. The figures cover all transactions.`
      : ''
  const { binMs = 0 } = model.throughput ?? {}
  const bins = binMs > 1_000 ? `, in bins of ${duration(binMs)}` : ''
  return `${words}
<section aria-labelledby="nonces-title">
<h2 id="nonces-title">Nonces over time</h2>
<p class="hint">Each row is a nonce; each bar is a stage of its transaction. Point at a row for its history, and click to keep it open. Zoom with the slider, or with Ctrl and the wheel.${some}</p>
<div class="tools" id="tools"></div>
<div class="split"><div class="chart tall" id="nonces"></div><div id="history" aria-live="polite"></div></div>
</section>
<div class="pair">
<section aria-labelledby="latency-title"><h2 id="latency-title">Latency</h2><p class="hint">Time from the send to the stage. Bin widths grow by a quarter.</p><div class="chart" id="latency"></div><div id="spreads"></div></section>
<section aria-labelledby="throughput-title"><h2 id="throughput-title">Throughput</h2><p class="hint">Transactions per second${bins}.</p><div class="chart" id="throughput"></div></section>
</div>
<section aria-labelledby="problems-title">
<h2 id="problems-title">Problems and how they ended</h2>
<div id="groups"></div>
<div id="problems"></div>
</section>
<noscript><p>The charts and tables need JavaScript. The summary above has the main results.</p></noscript>`
}

function footer({ book, summary }: Model): string {
  const { recording } = summary
  const began = book.startedAt === undefined ? '' : `, from ${new Date(book.startedAt).toISOString()}`
  const parts = [
    `${number(recording.events)} events in ${number(recording.lives)} ${recording.lives === 1 ? 'session' : 'sessions'}${began}, over ${duration(summary.durationMs)}`,
    ...(recording.packages.length > 0 ? [`recorded by txlane ${recording.packages.join(', ')}`] : []),
    ...(recording.unknownEvents > 0
      ? [`${number(recording.unknownEvents)} events of a newer version omitted`]
      : []),
  ]
  return escapeHtml(`${parts.join('; ')}.`)
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
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
