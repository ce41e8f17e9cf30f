import type { Flatness } from './flat.js'
import { mebibytes, type SoakResult } from './run.js'

export function renderSummary(result: SoakResult): string {
  const { verdicts, closed, chain, flatness } = result
  const total = (
    field: 'sealed' | 'reverted' | 'failed' | 'gaps' | 'duplicates' | 'lost' | 'contradictions',
  ) => verdicts.reduce((sum, verdict) => sum + verdict[field], 0)
  const lines = [
    '',
    `seed ${result.seed}, ${result.seconds.toFixed(0)} s, ${result.sent} sent, ${result.skipped} skipped`,
    `sealed ${total('sealed')} (reverted ${total('reverted')}), never executed ${total('failed')}`,
    `gaps ${total('gaps')}, duplicates ${total('duplicates')}, lost ${total('lost')}, contradictions ${total('contradictions')}`,
    `faults ${listed(result.faults)}`,
    `events ${listed(result.events)}`,
    ...(flatness ?? []).map(flatLine),
    ...(flatness === undefined ? ['too short to judge whether memory and timers stay flat'] : []),
    `after close: heap ${mebibytes(closed.heapBytes)} MiB, timers ${closed.timers}, sockets ${closed.sockets}, open ${closed.open}`,
    `the chain's process: gateway ${mebibytes(chain.gatewayBytes)} MiB, node ${mebibytes(chain.nodeBytes ?? 0)} MiB`,
    ...(result.settled ? [] : ['not everything had ended when the time for it was over']),
    ...(result.error === undefined ? [] : [`the first error that the sender reported: ${result.error}`]),
    ...verdicts.flatMap(({ problems }) => problems.map((problem) => `  ${problem}`)),
    result.ok ? 'held' : 'FAILED',
  ]
  return `${lines.join('\n')}\n`
}

function flatLine({ measured, early, late, most, flat }: Flatness): string {
  const shown = (value: number) => (measured === 'heapBytes' ? `${mebibytes(value)} MiB` : value.toFixed(0))
  const verdict = flat ? 'flat' : 'GROWS'
  return `${measured}: median ${shown(early)} in the second sixth, ${shown(late)} in the last, at most ${shown(most)}: ${verdict}`
}

function listed(counts: Readonly<Record<string, number>>): string {
  const all = Object.entries(counts).sort(([a], [b]) => a.localeCompare(b))
  return all.map(([name, times]) => `${name} ${times}`).join(', ') || 'none'
}
