import type { Client, Hash, Hex } from 'viem'
import { expect } from 'vitest'
import { createChain } from '../../../test/sim/chain/chain.js'
import type { ChainOptions } from '../../../test/sim/chain/options.js'
import type { SimChain } from '../../../test/sim/chain/simChain.js'
import { foreignTransaction, isForeign, isNoop } from '../../../test/sim/foreign.js'
import { createSimPort } from '../../../test/sim/port/simPort.js'
import { programOf, programRequest } from '../../../test/sim/program.js'
import { createRandom } from '../../../test/sim/random.js'
import { createSimClient, simSignatures } from '../../../test/sim/simClient.js'
import { createStubAccount, type StubAccount } from '../../../test/sim/stubAccount.js'
import { decodeTransaction, type SimTransaction } from '../../../test/sim/transaction.js'
import { createVirtualClock, type VirtualClock } from '../../../test/sim/virtualClock.js'
import { createShared, type Environment } from '../../chain/environment.js'
import type { TxlaneError } from '../../errors/base.js'
import { eventNames } from '../../lane/emitter.js'
import type { Port, RpcCall, RpcReply } from '../../rpc/port.js'
import { memoryStore } from '../../store/memory.js'
import type { Sender, SenderEvents, TxRequest } from '../../types/index.js'
import * as runtime from '../runtime.js'
import { createSenderIn, type LooseParameters } from './sender.js'

export const ACCOUNT = '0x00000000000000000000000000000000000000aa'
const ONE_ETHER = 10n ** 18n
const ANSWER_MS = 10
// Tests wait for this time if evidence is not available.
const PATIENCE_MS = 500

/** Answers a call instead of the node; `undefined` passes it on to the node. */
export type Script = (call: RpcCall, tx: SimTransaction | undefined) => RpcReply | undefined

/** The real sender in virtual time, on a simulated chain whose endpoint can be scripted. */
export type SimLane = AsyncDisposable & {
  readonly clock: VirtualClock
  readonly chain: SimChain
  readonly sender: Sender
  readonly account: StubAccount
  readonly environment: Environment
  readonly parameters: LooseParameters
  readonly port: Port
  /** The transactions that were handed to the endpoint, in order. */
  readonly sent: readonly SimTransaction[]
  /** The JSON-RPC requests that the endpoint saw. */
  readonly requests: readonly (readonly RpcCall[])[]
  /** Every event, in order. */
  readonly reported: readonly { event: keyof SenderEvents; payload: Record<string, unknown> }[]
  /** The lines that would have gone to the console. */
  readonly warned: readonly string[]
  script: Script | undefined
  /** Answers a whole request instead of the node; `undefined` passes it on to the node. */
  refusal: ((calls: readonly RpcCall[]) => readonly RpcReply[] | undefined) | undefined
  /** Runs the clock until the promise settles. */
  settle<T>(promise: Promise<T>, maxMs?: number): Promise<T>
  /** The error that the promise rejects with. */
  rejection(promise: Promise<unknown>, maxMs?: number): Promise<TxlaneError>
  /** Runs the clock until the predicate holds. */
  until(predicate: () => boolean, maxMs?: number): Promise<void>
  blocks(count: number): Promise<void>
  /** Puts a foreign transaction of the same key into the next block. */
  foreign(salt?: number): void
  /** The executed transactions of the sealed chain in the order of their nonces: markers, `noop`, `foreign`. */
  executed(): readonly (number | 'noop' | 'foreign')[]
  /** The payloads of one event, without the fields that name the lane. */
  events(event: keyof SenderEvents): readonly Record<string, unknown>[]
  /** The snapshot of the lane, with its holds. */
  snapshot(): ReturnType<Sender['snapshot']>
}

export type SimLaneOptions = Omit<Partial<LooseParameters>, 'client' | 'account'> & {
  readonly chain?: Omit<Partial<ChainOptions>, 'clock' | 'random' | 'accounts'>
  readonly balanceWei?: bigint
  readonly nonce?: number
  readonly code?: Hex
  /** Other accounts of the chain. */
  readonly others?: ChainOptions['accounts']
  /** Whether a signature fails. It is called before each signature. */
  readonly fails?: () => boolean
  /** The duration of a signature. It is called before each signature. */
  readonly signMs?: () => number
  /** CPU time of the process in addition to the virtual time. No timer fires during it, as in a busy process. */
  readonly workedMs?: () => number
  /** The additional delay of an answer. It is called at each request. */
  readonly lateMs?: (calls: readonly RpcCall[]) => number
  /** Replaces the port to the endpoint by one around it. */
  readonly around?: (port: Port, clock: VirtualClock) => Port
  /** True: the lane is not opened yet. @default the lane is ready */
  readonly closed?: boolean
}

export async function openLane(options: SimLaneOptions = {}): Promise<SimLane> {
  const {
    chain: chainOptions,
    balanceWei = ONE_ETHER,
    nonce = 0,
    code,
    others = [],
    fails,
    signMs = () => 0,
    lateMs = () => 0,
    workedMs,
    around = (port) => port,
    closed,
    ...own
  } = options
  const clock = createVirtualClock()
  const chain = createChain({
    clock,
    random: createRandom(1),
    accounts: [{ address: ACCOUNT, nonce, balanceWei, ...(code ? { code } : {}) }, ...others],
    ...chainOptions,
  })
  const account = createStubAccount(ACCOUNT, { clock, fails, delayMs: signMs })
  const [sent, warned]: [SimTransaction[], string[]] = [[], []]
  const requests: (readonly RpcCall[])[] = []
  const reported: { event: keyof SenderEvents; payload: Record<string, unknown> }[] = []
  const scripted: Pick<SimLane, 'script' | 'refusal'> = { script: undefined, refusal: undefined }
  const port = around(scriptedPort({ chain, clock, sent, requests, lateMs, scripted }), clock)

  const environment: Environment = {
    clock: workedMs ? { ...clock, now: () => clock.now() + workedMs() } : clock,
    random: createRandom(3),
    portsOf: () => [{ port, role: 'both' }],
    runtime: () => runtime,
    signatures: simSignatures,
    warn: (line) => void warned.push(line),
    shared: createShared(),
  }
  const client = createSimClient({ port, chainId: chain.settings.chainId, account }) as unknown as Client
  const parameters = {
    client: client as never,
    store: memoryStore(),
    lossDepth: 'child' as const,
    ...own,
    limits: { evidencePatienceMs: PATIENCE_MS, ...own.limits },
  }
  const sender = createSenderIn(environment, parameters)
  for (const event of eventNames) {
    sender.on(event, (payload) => void reported.push({ event, payload: payload as Record<string, unknown> }))
  }

  const lane: SimLane = {
    clock,
    chain,
    sender,
    account,
    environment,
    parameters,
    port,
    sent,
    requests,
    reported,
    warned,
    get script() {
      return scripted.script
    },
    set script(script) {
      scripted.script = script
    },
    get refusal() {
      return scripted.refusal
    },
    set refusal(refusal) {
      scripted.refusal = refusal
    },
    ...timelineOf(clock),
    async blocks(count) {
      const target = chain.head.number + count
      await lane.until(() => chain.head.number >= target)
      // The poller sees the block one polling interval later.
      await clock.advance(450)
    },
    foreign: (salt = 1) =>
      chain.force({
        from: ACCOUNT,
        make: (at) =>
          foreignTransaction({
            chainId: chain.settings.chainId,
            from: ACCOUNT,
            nonce: at,
            maxFeeWei: 10n ** 9n,
            tipWei: 10n ** 6n,
            salt,
          }),
      }),
    executed: () =>
      chain.canonical
        .flatMap((block) => block.executed)
        .filter(({ tx }) => tx.from === ACCOUNT)
        .map(({ tx }) => nameOf(tx)),
    events: (event) => reported.flatMap((one) => (one.event === event ? [withoutLane(one.payload)] : [])),
    snapshot: () => lane.settle(sender.snapshot()),
    async [Symbol.asyncDispose]() {
      lane.script = undefined
      lane.refusal = undefined
      await lane.settle(sender.close())
      chain.stop()
      // P4 for every test: no transaction has executed twice.
      const markers = lane.executed().filter((name) => typeof name === 'number')
      expect(markers, 'a transaction executed twice').toEqual([...new Set(markers)])
      await clock.advance(15_000)
      expect(clock.pendingTimers, 'a timer was left after close').toBe(0)
    },
  }
  if (!closed) {
    chain.start()
    await lane.settle(sender.ready())
  }
  return lane
}

/** The port to the simulated node. The script of the test may answer instead of the node. */
function scriptedPort(parts: {
  readonly chain: SimChain
  readonly clock: VirtualClock
  readonly sent: SimTransaction[]
  readonly requests: (readonly RpcCall[])[]
  readonly lateMs: (calls: readonly RpcCall[]) => number
  readonly scripted: Pick<SimLane, 'script' | 'refusal'>
}): Port {
  const { chain, clock, sent, requests, lateMs, scripted } = parts
  const node = createSimPort(chain, { clock, random: createRandom(2), latencyMs: { min: 5, max: 5 } })
  const pause = (ms: number) => new Promise<void>((resolve) => clock.setTimer(resolve, ms))

  async function batch(calls: readonly RpcCall[], batchOptions?: Parameters<Port['batch']>[1]) {
    requests.push(calls)
    const late = lateMs(calls)
    if (late > 0) await pause(late)
    const refused = scripted.refusal?.(calls)
    if (refused !== undefined) {
      await pause(ANSWER_MS)
      return refused
    }
    const answers = calls.map((call) => {
      const raw = call.method === 'eth_sendRawTransaction' ? String(call.params[0]) : undefined
      const tx = raw === undefined ? undefined : decodeTransaction(raw)
      if (tx) sent.push(tx)
      return scripted.script?.(call, tx)
    })
    const through = calls.filter((_, index) => answers[index] === undefined)
    if (through.length === 0) {
      await pause(ANSWER_MS)
      return answers as RpcReply[]
    }
    const replies = [...(await node.batch(through, batchOptions))]
    return answers.map((reply) => reply ?? (replies.shift() as RpcReply))
  }

  return { name: 'sim', kind: 'http', batch, stats: node.stats, close: () => {} }
}

/** Runs the clock until a promise settles or a predicate holds. */
function timelineOf(clock: VirtualClock): Pick<SimLane, 'settle' | 'rejection' | 'until'> {
  async function settle<T>(promise: Promise<T>, maxMs = 120_000): Promise<T> {
    let open = true
    const watched = promise.finally(() => {
      open = false
    })
    watched.catch(() => {})
    await clock.runUntil(() => !open, maxMs)
    if (open) throw new Error(`the promise is still open after ${maxMs} ms`)
    return watched
  }

  return {
    settle,
    rejection: (promise, maxMs) =>
      settle(
        promise.then(
          () => {
            throw new Error('it resolved')
          },
          (error: TxlaneError) => error,
        ),
        maxMs,
      ),
    async until(predicate, maxMs = 120_000) {
      if (!(await clock.runUntil(predicate, maxMs)))
        throw new Error(`the predicate did not hold within ${maxMs} ms`)
    },
  }
}

/** The payload of an event without the fields that name the lane. */
export function withoutLane(payload: Record<string, unknown>): Record<string, unknown> {
  const { chainId: _, address: __, ...own } = payload
  return own
}

export function nameOf(tx: SimTransaction): number | 'noop' | 'foreign' {
  if (isForeign(tx)) return 'foreign'
  const program = programOf(tx)
  if (program) return program.marker
  if (!isNoop(tx)) throw new Error('a transaction of unknown origin')
  return 'noop'
}

/** A transfer that its marker identifies, with given gas. */
export function transfer(marker: number): TxRequest {
  return { ...programRequest({ kind: 'transfer', marker }), gas: 21_000n } as TxRequest
}

/** A refusal of one call by the node. */
export function refuses(message: string, code = -32000): RpcReply {
  return { ok: false, failure: { kind: 'rpc', code, message } }
}

export const UNDERPRICED = refuses('replacement transaction underpriced')

export const TIMES_OUT: RpcReply = { ok: false, failure: { kind: 'timeout', message: 'no answer in time' } }

/** The node answers with the hash but drops the bytes. */
export const swallows = ({ hash }: SimTransaction): RpcReply => ({ ok: true, result: hash })

/** The node answers transactions with these names with their hash but drops them. */
export const swallow = (...names: readonly (number | 'noop')[]): Script =>
  onSend((tx) => (names.some((name) => name === nameOf(tx)) ? swallows(tx) : undefined))

/** Answers only sends, by the script; `undefined` passes them on to the node. */
export function onSend(script: (tx: SimTransaction) => RpcReply | undefined): Script {
  return (_, tx) => tx && script(tx)
}

/** The hashes of the transactions that were handed to the endpoint, in order. */
export const hashes = (lane: SimLane): readonly Hash[] => lane.sent.map(({ hash }) => hash)

/** The number of different transactions among them. */
export const distinct = (lane: SimLane): number => new Set(hashes(lane)).size

/** Whether a pool would accept `next` as a replacement of `old`. */
export function outbids(next: SimTransaction | undefined, old: SimTransaction | undefined): boolean {
  if (next === undefined || old === undefined) return false
  return next.maxFeeWei * 100n >= old.maxFeeWei * 110n && next.tipWei * 100n >= old.tipWei * 110n
}
