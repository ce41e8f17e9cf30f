import { createHash } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import { formatUnits } from 'viem'
import { counted, number, short } from '../model/words.js'
import { type PayoutData, packLines } from './data.js'
import { explorerPage } from './explorer.js'
import { type Facts, factsOf, type Sum } from './facts.js'
import { PAGE_ROWS } from './pageRows.js'
import type { PayoutReport } from './payout.js'
import { problemSections } from './problems.js'
import { columnsOf, hexHtml, type RowContext, rowContext, rowHtml, sumHtml } from './row.js'
import { STYLE } from './style.js'
import { escapeHtml, foreignText, plainText } from './text.js'
import { feeText, longTime } from './words.js'

const FILE_MAX = 200

/**
 * A page about a payout for readers without knowledge of blockchains. It is self-contained: its policy allows its own
 * script and style, by their hashes, and no request. `script` is that of `page/main.ts`.
 *
 * @param accounting name of the accounting file, if it stands beside the page
 */
export function payoutPage(report: PayoutReport, script: string, accounting?: string): string {
  const code = script.replaceAll(/<\/(script)/gi, '<\\/$1').trim()
  const context = rowContext(report)
  const facts = factsOf(report)
  const title = `Payments of ${foreignText(report.file, FILE_MAX)}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="txlane report">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src ${hashOf(code)}; style-src ${hashOf(STYLE)}; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Payments of ${escapeHtml(plainText(report.file, FILE_MAX))}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>${title}</h1>
<p id="verdict" class="${report.lines.length > 0 && facts.lines.paid === report.lines.length ? 'good' : 'bad'}">${verdict(report, facts)}</p>
</header>
<main>
${summary(report, facts, context)}
${problemSections(report, context)}
${tableSection(report, context)}
</main>
<footer>${footer(report, accounting)}</footer>
<p id="said" role="status" class="unseen"></p>
<script type="text/plain" id="data">${compressed(packLines(report))}</script>
<script>${code}</script>
</body>
</html>
`
}

/** Half of its JSON: hashes and addresses are most of it. */
function compressed(data: PayoutData): string {
  return deflateRawSync(JSON.stringify(data), { level: 6 }).toString('base64')
}

function hashOf(code: string): string {
  return `'sha256-${createHash('sha256').update(code).digest('base64')}'`
}

function verdict({ lines }: PayoutReport, { lines: counts }: Facts): string {
  const { paid, unpaid, unsure } = counts
  if (lines.length === 0) return 'The file has no lines: nothing was paid.'
  if (paid === lines.length)
    return lines.length === 1 ? 'The line is paid.' : `All ${number(paid)} lines are paid.`
  const rest = [
    ...(unpaid > 0 ? [`${number(unpaid)} not paid`] : []),
    ...(unsure > 0 ? [`${number(unsure)} not certain yet`] : []),
  ]
  return `${number(paid)} of ${counted(lines.length, 'line')} ${paid === 1 ? 'is' : 'are'} paid; ${rest.join(', ')}.`
}

function summary(report: PayoutReport, facts: Facts, context: RowContext): string {
  const { chain, account, begunAt, lines } = report
  const explorer = explorerPage(chain, 'address', account)
  const host = explorer === undefined ? undefined : new URL(explorer).host
  const packed = facts.packedBy > 1 ? `; one transaction pays up to ${number(facts.packedBy)} lines` : ''
  const entries: readonly (readonly [string, string])[] = [
    ['Paid by', `the account ${hexHtml(account, explorer, 'Copy the address of the paying account')}`],
    [
      'On',
      `${foreignText(chain.name, 60)}${chain.name === `chain ${chain.id}` ? '' : ` (chain ${chain.id})`}`,
    ],
    ['When', whenOf(begunAt, facts)],
    ['Lines', `${number(lines.length)} in the file: ${linesOf(facts)}`],
    ['Transactions', `${number(facts.transactions)}${packed}`],
    ['Fees', feesOf(report, facts)],
  ]
  const check =
    host === undefined
      ? 'Each payment has a transaction, whose hash identifies it on the chain.'
      : `Each payment is public: its links open ${escapeHtml(host)}, where anyone can check it.`
  return `<section aria-labelledby="summary-title">
<h2 id="summary-title" class="unseen">Summary</h2>
${totalsTable(facts, context)}
<dl>${entries.map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`).join('')}</dl>
<p class="hint">${check}</p>
</section>`
}

/** A day is said once for the times that it has in common. */
function whenOf(begunAt: string, { between }: Facts): string {
  const [day, begun] = longTime(begunAt)
  if (between === undefined) return `${day}, begun at ${begun} UTC`
  const [[firstDay, first], [lastDay, last]] = [longTime(between[0]), longTime(between[1])]
  const start = `${firstDay === day ? '' : `${firstDay}, `}${first}`
  if (firstDay === lastDay && first === last) return `${day}, begun at ${begun}, paid at ${start} UTC`
  return `${day}, begun at ${begun}, paid from ${start} to ${lastDay === firstDay ? '' : `${lastDay}, `}${last} UTC`
}

function linesOf({ lines: { paid, unpaid, unsure } }: Facts): string {
  return [
    `${number(paid)} paid`,
    `${number(unpaid)} not paid`,
    ...(unsure > 0 ? [`${number(unsure)} not certain yet`] : []),
  ].join(', ')
}

function feesOf({ chain }: PayoutReport, { fees, lines, transactions }: Facts): string {
  const symbol = foreignText(chain.symbol, 20)
  const each =
    transactions > 1
      ? `, on average ${feeText(fees.wei / BigInt(transactions))} ${symbol} per transaction`
      : ''
  const share = fees.shareOfPaid === undefined ? '' : ` (${percent(fees.shareOfPaid)} of the ${symbol} paid)`
  const unknown =
    fees.unknown === 0 ? '' : `, without the fees of ${counted(fees.unknown, 'line')}, which are not known`
  if (lines.paid > 0 && fees.unknown >= lines.paid && fees.wei === 0n) return 'not known'
  return `${formatUnits(fees.wei, 18)} ${symbol} on top of the amounts${share}${each}${unknown}`
}

function percent(share: number): string {
  if (share === 0) return 'less than 0.01 %'
  return share < 0.0001 ? 'less than 0.01 %' : `${(share * 100).toFixed(2)} %`
}

function totalsTable({ totals, lines }: Facts, context: RowContext): string {
  if (totals.length === 0) return ''
  const hasUnsure = lines.unsure > 0
  const rows = totals.map(({ money, sums }) => {
    const token =
      money.token === undefined
        ? `the currency of ${foreignText(context.chain.name, 60)}`
        : `token ${hexHtml(money.token, explorerPage(context.chain, 'token', money.token), 'Copy the address of the token')}`
    const sum = (name: string, label: string, { amount, lines }: Sum) =>
      `<td role="cell" class="${name}" data-label="${label}">${lines === 0 ? '–' : `${sumHtml(amount, money)} ${foreignText(money.symbol, 20)} <small>${counted(lines, 'line')}</small>`}</td>`
    return `<tr role="row"><th role="rowheader" scope="row">${foreignText(money.symbol, 20)} <small>${token}</small></th>${sum('good', 'Paid', sums.paid)}${sum('bad', 'Not paid', sums.unpaid)}${hasUnsure ? sum('bad', 'Not certain yet', sums.unsure) : ''}</tr>`
  })
  const heads = ['Currency', 'Paid', 'Not paid', ...(hasUnsure ? ['Not certain yet'] : [])]
  return `<table role="table" id="totals"><caption>Totals</caption><thead role="rowgroup"><tr role="row">${heads
    .map((head) => `<th role="columnheader" scope="col">${head}</th>`)
    .join('')}</tr></thead><tbody role="rowgroup">${rows.join('')}</tbody></table>`
}

function tableSection({ lines }: PayoutReport, context: RowContext): string {
  if (lines.length === 0) return ''
  const heads = columnsOf(context).map(
    ([column, title]) =>
      `<th role="columnheader" scope="col" class="${column}" data-column="${column}" data-title="${escapeHtml(title)}"${column === 'line' ? ' aria-sort="ascending"' : ''}>${foreignText(title, 40)}</th>`,
  )
  const rest =
    lines.length > PAGE_ROWS
      ? `<noscript><p class="hint">Without scripts this page shows the first ${number(PAGE_ROWS)} lines.</p></noscript>`
      : ''
  return `<section aria-labelledby="lines-title">
<h2 id="lines-title">All lines</h2>
<div id="tools" hidden></div>
<p id="found" class="hint" role="status"></p>
${rest}
<table role="table" id="lines"><caption class="unseen">All lines of the file with their results</caption>
<thead role="rowgroup"><tr role="row">${heads.join('')}</tr></thead>
<tbody role="rowgroup">
${lines
  .slice(0, PAGE_ROWS)
  .map((line) => rowHtml(line, context))
  .join('\n')}
</tbody></table>
<nav id="pages" aria-label="Pages of the table" hidden></nav>
</section>`
}

function footer({ chain, account }: PayoutReport, accounting: string | undefined): string {
  const transactions = explorerPage(chain, 'tx', 'HASH')
  const look =
    transactions === undefined
      ? ''
      : `<p>To look a payment up: <span class="url">${escapeHtml(transactions)}</span> with its transaction hash instead of HASH.</p>`
  const file =
    accounting === undefined
      ? ''
      : ` The file ${foreignText(accounting, FILE_MAX)} has the same lines for a spreadsheet, with exact fees and whole texts.`
  return `<p>Amounts are exact. Fees in the table are rounded to five digits; the fee of a transaction that pays several lines is divided among them. Times are UTC, from the block of the payment.${file}</p>
${look}
<p>Report by txlane, for the account ${short(account)}.</p>`
}
