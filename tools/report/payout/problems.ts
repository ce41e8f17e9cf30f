import { counted, number } from '../model/words.js'
import type { PayoutLine, PayoutReport } from './payout.js'
import { problemHtml, type RowContext } from './row.js'
import { STATUSES } from './words.js'

// The table below the sections has all lines, and can be filtered by status.
const SHOWN_MAX = 50

/** A section for each status that needs attention: its lines, what happened, and the remedy. Empty if all lines are paid. */
export function problemSections({ lines }: PayoutReport, context: RowContext): string {
  const groups = new Map<PayoutLine['status'], PayoutLine[]>()
  for (const line of lines) {
    if (line.status === 'paid') continue
    const group = groups.get(line.status)
    if (group === undefined) groups.set(line.status, [line])
    else group.push(line)
  }
  if (groups.size === 0) return ''
  const parts = (Object.keys(STATUSES) as PayoutLine['status'][]).flatMap((status) => {
    const group = groups.get(status)
    return group === undefined ? [] : [groupHtml(status, group, context)]
  })
  return `<section aria-labelledby="problems-title" id="problems">
<h2 id="problems-title">Lines that need attention</h2>
${parts.join('\n')}
</section>`
}

function groupHtml(status: PayoutLine['status'], lines: readonly PayoutLine[], context: RowContext): string {
  const { heading, happened, remedy } = STATUSES[status]
  const heads = ['Line', 'Recipient', ...(context.hasFor ? ['For'] : []), 'Amount', 'Why']
  const classes = ['line', 'to', ...(context.hasFor ? ['for'] : []), 'amount', 'why']
  const rest =
    lines.length > SHOWN_MAX
      ? `<p class="hint">These are the first ${number(SHOWN_MAX)}. The table of all lines below shows the others.</p>`
      : ''
  return `<h3>${heading} (${counted(lines.length, 'line')})</h3>
<p>${happened} <strong>To do:</strong> ${remedy}</p>
<table role="table"><caption class="unseen">${heading}</caption><thead role="rowgroup"><tr role="row">${heads
    .map((head, index) => `<th role="columnheader" scope="col" class="${classes[index]}">${head}</th>`)
    .join('')}</tr></thead><tbody role="rowgroup">
${lines
  .slice(0, SHOWN_MAX)
  .map((line) => problemHtml(line, context))
  .join('\n')}
</tbody></table>${rest}`
}
