import type { Address } from 'viem'
import type { Fate } from '../../src/errors/base.js'
import type { Stage } from '../../src/types/index.js'
import type { SimChain } from './chain/simChain.js'
import { isNoop } from './foreign.js'
import type { Violation } from './oracle.js'
import { programOf } from './program.js'

/** A transaction that was sent through a pool, and its last report. */
export type Sent = {
  readonly marker: number
  readonly id: string
  /** The report to its caller: `landed`, or the fate in the error. */
  reported: 'landed' | Fate | undefined
  /** The stage that a process finds by its id, once all is quiet; undefined if no process knows it. */
  found: Stage | undefined
}

const LANDED: ReadonlySet<Stage> = new Set(['sealed', 'safe', 'finalized'])
const ENDED: ReadonlySet<Stage> = new Set(['failed', 'cancelled', 'superseded'])

/** Compares the reports to callers with the chain, when all keys are funded and all lanes drained. */
export function violationsOfPools(
  chain: SimChain,
  keys: readonly Address[],
  sent: readonly Sent[],
): readonly Violation[] {
  const times = executions(chain)
  const twice = [...times].filter(([, count]) => count > 1)
  const left = keys.filter((address) => chain.pool.of(address).length > 0)
  return [
    ...twice.map(([marker, count]) => violation('P4', `t${marker} executed ${count} times`)),
    ...left.map((address) => violation('P3', `drained, and the pool holds some of ${address}`)),
    ...sent.flatMap((one) => violationsOf(one, times.has(one.marker))),
  ]
}

function executions(chain: SimChain): ReadonlyMap<number, number> {
  const times = new Map<number, number>()
  for (const { tx } of chain.canonical.flatMap((block) => block.executed)) {
    const marker = isNoop(tx) ? undefined : programOf(tx)?.marker
    if (marker !== undefined) times.set(marker, (times.get(marker) ?? 0) + 1)
  }
  return times
}

function violationsOf({ id, reported, found }: Sent, executed: boolean): readonly Violation[] {
  const says = executed ? 'executed' : 'did not execute'
  const violations: Violation[] = []
  if ((reported === 'landed' && !executed) || (reported === 'notExecuted' && executed))
    violations.push(violation('P5', `${id} was reported as ${reported}, and ${says}`))
  const isOver = found === undefined || LANDED.has(found) || ENDED.has(found)
  if (!isOver) violations.push(violation('P8', `drained, and ${id} is ${found}`))
  if (isOver && executed !== (found !== undefined && LANDED.has(found)))
    violations.push(violation('P5', `${id} is ${found}, and ${says}`))
  return violations
}

const violation = (promise: Violation['promise'], text: string): Violation => ({ promise, text })
