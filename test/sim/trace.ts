import type { RpcCall, RpcReply } from '../../src/rpc/port.js'
import type { SimChain } from './chain/simChain.js'
import { isForeign, isNoop } from './foreign.js'
import type { Plan } from './plan.js'
import { programOf } from './program.js'
import { decodeTransaction, type SimTransaction } from './transaction.js'
import type { VirtualClock } from './virtualClock.js'
import type { Workload } from './workload.js'
import type { WorldOptions } from './world.js'

export type Trace = Required<Pick<WorldOptions, 'onWorld' | 'onAnswer'>> & {
  /** The events in order of time, one line each. */
  lines(): readonly string[]
}

type Line = { readonly atMs: number; readonly text: string }

/** Records one world for people: the plan, requests and answers, the blocks, the reports. */
export function createTrace(options: { readonly reads: boolean }): Trace {
  const lines: Line[] = []
  let world: { plan: Plan; chain: SimChain; clock: VirtualClock; workload: Workload } | undefined
  let beganMs = 0

  function onAnswer(
    name: string,
    calls: readonly RpcCall[],
    replies: readonly RpcReply[],
    askedMs: number,
  ): void {
    const atMs = world?.clock.now() ?? askedMs
    calls.forEach(({ method, params }, index) => {
      const reply = replies[index]
      const sends = method.startsWith('eth_sendRawTransaction') && params[0] !== '0x'
      if (!sends && !options.reads) return
      const what = sends
        ? `send ${describe(decodeTransaction(String(params[0])))}`
        : `${method} ${params.join(' ')}`
      lines.push({ atMs, text: `${name} (asked ${askedMs - beganMs}) ${what} → ${answered(reply)}` })
    })
  }

  return {
    onWorld(made) {
      world = made
      beganMs = made.clock.now()
    },
    onAnswer,
    lines() {
      if (world === undefined) return []
      const { plan, chain, workload } = world
      const { items, disturbances, ...rest } = plan
      const planned = [
        ...items.map((item) => ({ atMs: beganMs + item.atMs, text: `planned ${show(item)}` })),
        ...disturbances.map((each) => ({ atMs: beganMs + each.atMs, text: `disturbance ${show(each)}` })),
      ]
      const reported = workload.reports.map(({ atMs, marker, says, how }) => ({
        atMs,
        text: `report about ${marker}: ${says} (${how})`,
      }))
      const sealed = chain.canonical
        .filter((block) => block.executed.length + block.adjustments.length > 0)
        .map(({ number, timestampMs, executed, adjustments }) => ({
          atMs: timestampMs,
          text: `block ${number}: ${executed.map(({ tx, status }) => `${describe(tx)} ${status}`).join('; ')} ${show(adjustments)}`,
        }))
      return [
        show(rest),
        ...[...planned, ...lines, ...reported, ...sealed]
          .sort((a, b) => a.atMs - b.atMs)
          .map(({ atMs, text }) => `${String(atMs - beganMs).padStart(8)} ${text}`),
      ]
    },
  }
}

function describe(tx: SimTransaction | undefined): string {
  if (tx === undefined) return 'unreadable bytes'
  const program = programOf(tx)
  const kind = program
    ? `${program.kind} ${program.marker}`
    : isNoop(tx)
      ? 'no-op'
      : isForeign(tx)
        ? 'foreign'
        : '?'
  return `#${tx.nonce} ${kind} ${tx.hash.slice(0, 10)} fee ${tx.maxFeeWei}/${tx.tipWei}`
}

function answered(reply: RpcReply | undefined): string {
  if (reply === undefined) return 'nothing'
  if (!reply.ok) return `${reply.failure.kind} ${reply.failure.message}`
  return typeof reply.result === 'string' ? reply.result.slice(0, 20) : show(reply.result).slice(0, 600)
}

function show(value: unknown): string {
  return (
    JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? `${each}n` : each)) ?? 'undefined'
  )
}
