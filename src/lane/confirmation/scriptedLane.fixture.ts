import type { Address, Hash } from 'viem'
import { createVirtualClock, type VirtualClock } from '../../../test/sim/virtualClock.js'
import {
  type History,
  hashOf,
  type ScriptedChain,
  scriptedChain,
} from '../../../test/support/scriptedChain.js'
import { type Book, createBook } from '../../ledger/book.js'
import type { SlotEvent } from '../../ledger/event.js'
import { attempt, block } from '../../ledger/samples.fixture.js'
import type { Port, RpcCall, RpcReply } from '../../rpc/port.js'
import type { LaneContext } from '../engine/core.js'

export const ADDRESS = '0xabcdefabcdefabcdefabcdefabcdefabcdefabcd'
export const foreign = (nonce: number): Hash => hashOf('foreign', nonce)
export const mine = (nonce: number): Hash => hashOf('own', nonce, 1)

/** One endpoint. It answers calls as the chain does, or by the script. */
export type ScriptedEndpoint = {
  readonly port: Port
  readonly batches: (readonly RpcCall[])[]
  script: ((call: RpcCall) => RpcReply | undefined) | undefined
}

/**
 * The environment of the parts that follow a lane: a real book, and endpoints onto a chain of a few blocks.
 */
export type ScriptedLane = {
  readonly context: LaneContext
  readonly book: Book
  readonly clock: VirtualClock
  readonly chain: ScriptedChain
  readonly endpoints: readonly ScriptedEndpoint[]
  readonly doubts: string[]
  readonly holds: Map<string, string | undefined>
  readonly emitted: { readonly event: string; readonly payload: unknown }[]
  /** Hashes that the store knows as hashes of this lane. */
  readonly stored: Set<Hash>
  readonly applied: string[]
  /** The applied events in full. */
  readonly events: SlotEvent[]
  /** Blocks to which the walk was asked to extend. */
  readonly reached: number[]
  /** Number of times that the poller was woken. */
  woken: number
  /** The newest walked block. */
  head: number
  /** The start of the walk. */
  walkedFrom: number
  /** The walk's hash at a number, if it differs from the chain's block. */
  walked: Map<number, Hash>
  /** Signed bytes of a transaction are journaled at a nonce. */
  journal(nonce: number, claim: string, hash: Hash): void
}

export function scriptedLane(options: {
  readonly history: History
  readonly floor?: number
  readonly endpoints?: number
  readonly lossDepth?: number | 'child'
  readonly code?: `0x${string}`
  readonly patienceMs?: number
}): ScriptedLane {
  const { history, floor = 0, lossDepth = 'child', code, patienceMs = 5_000 } = options
  const clock = createVirtualClock()
  const chain = scriptedChain(ADDRESS, history, { id: 0, forkedAt: 0, ...(code ? { code } : {}) })
  const book = createBook({ floor })
  const endpoints = Array.from({ length: options.endpoints ?? 1 }, (_, index) =>
    endpointOn(chain, `e${index}`),
  )
  let tokens = 100
  const lane: ScriptedLane = {
    book,
    clock,
    chain,
    endpoints,
    doubts: [],
    holds: new Map(),
    emitted: [],
    stored: new Set(),
    applied: [],
    events: [],
    reached: [],
    woken: 0,
    head: history.length - 1,
    walkedFrom: 0,
    walked: new Map(),
    journal(nonce, claim, hash) {
      const token = tokens++
      book.apply(nonce, { type: 'reserve', claim, token })
      book.apply(nonce, { type: 'committing', claim, token })
      book.apply(nonce, { type: 'journaled', token, attempt: { ...attempt(claim, 'x'), hash } })
    },
    context: undefined as never,
  }
  const context = {
    lane: {
      key: { address: ADDRESS },
      book,
      token: () => tokens++,
      apply(nonce: number, event: SlotEvent) {
        lane.applied.push(`${nonce} ${event.type}`)
        lane.events.push(event)
        book.apply(nonce, event)
      },
      holds: {
        has: (reason: string) => lane.holds.has(reason),
        add: (reason: string, detail?: string) => void lane.holds.set(reason, detail),
        lift: (reason: string) => void lane.holds.delete(reason),
      },
    },
    endpointPool: {
      chainId: 1,
      reader: endpoints[0],
      others: () => endpoints.slice(1),
      doubtReader: (why: string) => void lane.doubts.push(why),
      tracker: {
        get head() {
          return block(lane.head)
        },
        hashAt: (number: number) =>
          lane.walked.get(number) ??
          (number >= lane.walkedFrom && number <= lane.head ? chain.blockHash(number) : undefined),
        wake: () => void lane.woken++,
        reach: (number: number) => lane.reached.push(number) > 0,
        tag: () => undefined,
        stoodUpTo: Number.POSITIVE_INFINITY,
      },
    },
    store: {
      find: async (_: unknown, { hash }: { hash: Hash }) =>
        lane.stored.has(hash) ? { id: 'stored' } : undefined,
    },
    events: {
      emit: (event: string, payload: unknown) => void lane.emitted.push({ event, payload }),
    },
    clock,
    lossDepth,
    history: { block: -1, nonce: 0 },
    // Replaces signature recovery: the sender that the endpoint names is the signer.
    signatures: {
      signerOf: async ({ from }: { from: Address }) => from,
      authorityOf: async () => undefined,
    },
    limits: { readTimeoutMs: 1_000, evidencePatienceMs: patienceMs, reorgHorizon: 64 },
    closing: new AbortController().signal,
    closed: false,
  }
  return Object.assign(lane, { context: context as unknown as LaneContext })
}

function endpointOn(chain: ScriptedChain, name: string): ScriptedEndpoint {
  const batches: (readonly RpcCall[])[] = []
  const endpoint: ScriptedEndpoint = {
    batches,
    script: undefined,
    port: {
      name,
      kind: 'http',
      stats: { requests: 0, calls: 0 },
      async batch(calls) {
        batches.push(calls)
        return calls.map((call) => endpoint.script?.(call) ?? chain.answer(latestOf(call, chain)))
      },
      close() {},
    },
  }
  return endpoint
}

/** The scripted chain knows blocks by number and by hash. */
function latestOf(call: RpcCall, chain: ScriptedChain): RpcCall {
  const at = call.params[1] === 'latest' ? chain.newest : undefined
  return at === undefined ? call : { ...call, params: [call.params[0], `0x${at.toString(16)}`] }
}
