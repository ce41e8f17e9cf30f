import { lie, stray } from '../../../test/sim/port/lies.js'
import { createSimPort } from '../../../test/sim/port/simPort.js'
import { createRandom } from '../../../test/sim/random.js'
import { decodeTransaction, type SimTransaction } from '../../../test/sim/transaction.js'
import { createShared, type Environment } from '../../chain/environment.js'
import { eventNames } from '../../lane/emitter.js'
import type { EndpointRole, Port, RpcCall, RpcReply } from '../../rpc/port.js'
import type { Sender, SenderEvents } from '../../types/index.js'
import { createSenderIn } from './sender.js'
import {
  nameOf,
  openLane,
  type Script,
  type SimLane,
  type SimLaneOptions,
  withoutLane,
} from './simLane.fixture.js'

// Events about the profile of an endpoint and the use of its answers. They do not change the reader.
const ASIDE: ReadonlySet<unknown> = new Set(['profile', 'failing', 'answering'])

export type SimEndpoint = {
  readonly name: string
  readonly role: EndpointRole
  readonly port: Port
  /** The names of the transactions that it got, in order. */
  readonly sent: readonly (number | 'noop' | 'foreign')[]
  /** The same transactions, as it got them. */
  readonly raws: readonly SimTransaction[]
  /** Every call that it got. */
  readonly calls: readonly RpcCall[]
  script: Script | undefined
  /** `refuses`: it refuses the connection. `hangs`: it does not answer before the caller gives up. */
  state: 'up' | 'refuses' | 'hangs'
  /** The time by which it is behind the chain. */
  lagMs: number
  /** The additional delay of its answers. */
  slowMs: number
}

export type Several = AsyncDisposable & {
  readonly lane: SimLane
  readonly sender: Sender
  readonly endpoints: readonly SimEndpoint[]
  /** Every event, in order. */
  readonly reported: readonly { event: keyof SenderEvents; payload: Record<string, unknown> }[]
  /** The events of endpoints as `name change`, without profiles. */
  changes(): readonly string[]
  events(event: keyof SenderEvents): readonly Record<string, unknown>[]
  /** A sender of the same account, store and endpoints in another process. */
  another(): Sender
}

const REFUSED_MS = 5

/** A sender over several endpoints of these roles, named e0, e1, … and used in that order. */
export async function openSeveral(
  roles: readonly EndpointRole[],
  {
    closed,
    before,
    ...options
  }: SimLaneOptions & { readonly before?: (endpoints: readonly SimEndpoint[]) => void } = {},
): Promise<Several> {
  const lane = await openLane({ ...options, closed: true })
  const { clock, chain } = lane
  const endpoints = roles.map((role, index) => endpointOf(lane, role, index))
  before?.(endpoints)
  const reported: { event: keyof SenderEvents; payload: Record<string, unknown> }[] = []
  const senders: Sender[] = []

  function another(): Sender {
    const environment: Environment = {
      ...lane.environment,
      shared: createShared(),
      portsOf: () => endpoints.map(({ port, role }) => ({ port, role })),
    }
    const sender = createSenderIn(environment, lane.parameters)
    for (const event of eventNames)
      sender.on(
        event,
        (payload) => void reported.push({ event, payload: payload as Record<string, unknown> }),
      )
    senders.push(sender)
    return sender
  }

  const sender = another()
  chain.start()
  if (!closed) await lane.settle(sender.ready())
  return {
    lane,
    sender,
    endpoints,
    reported,
    changes: () =>
      reported
        .filter(({ event, payload }) => event === 'endpoint' && !ASIDE.has(payload.change))
        .map(({ payload }) => `${payload.name} ${payload.change}`),
    events: (event) =>
      reported.filter((one) => one.event === event).map(({ payload }) => withoutLane(payload)),
    another,
    async [Symbol.asyncDispose]() {
      for (const endpoint of endpoints)
        Object.assign(endpoint, { script: undefined, state: 'up', lagMs: 0, slowMs: 0 })
      for (const each of senders) await lane.settle(each.close())
      await lane[Symbol.asyncDispose]()
      await clock.advance(0)
    },
  }
}

function endpointOf({ clock, chain }: SimLane, role: EndpointRole, index: number): SimEndpoint {
  const name = `e${index}`
  const raws: SimTransaction[] = []
  const calls: RpcCall[] = []
  const node = createSimPort(chain, {
    clock,
    random: createRandom(20 + index),
    latencyMs: { min: 5, max: 5 },
    lagMs: () => endpoint.lagMs,
  })
  const later = (ms: number) => new Promise<void>((resolve) => void clock.setTimer(resolve, ms))

  async function batch(asked: readonly RpcCall[], options?: Parameters<Port['batch']>[1]) {
    const txs = asked.map(({ method, params }) =>
      method === 'eth_sendRawTransaction' ? decodeTransaction(String(params[0])) : undefined,
    )
    calls.push(...asked)
    for (const tx of txs) if (tx) raws.push(tx)
    if (endpoint.state !== 'up') {
      const hangs = endpoint.state === 'hangs'
      await later(hangs ? (options?.timeoutMs ?? 10_000) : REFUSED_MS)
      const failure = hangs
        ? ({ kind: 'timeout', message: 'no answer in time' } as const)
        : ({ kind: 'network', message: 'refused' } as const)
      return asked.map((): RpcReply => ({ ok: false, failure }))
    }
    if (endpoint.slowMs > 0) await later(endpoint.slowMs)
    const scripted = asked.map((call, at) => endpoint.script?.(call, txs[at]))
    const through = asked.filter((_, at) => scripted[at] === undefined)
    if (through.length === 0) await later(2 * REFUSED_MS)
    const replies = through.length === 0 ? [] : [...(await node.batch(through, options))]
    return scripted.map((reply) => reply ?? (replies.shift() as RpcReply))
  }

  const endpoint: SimEndpoint = {
    name,
    role,
    port: { name, kind: 'http', batch, stats: node.stats, close: () => {} },
    get sent() {
      return raws.map(nameOf)
    },
    raws,
    calls,
    script: undefined,
    state: 'up',
    lagMs: 0,
    slowMs: 0,
  }
  return endpoint
}

/** An endpoint that answers for another chain. */
export const otherChain: Script = (call) => stray(call)

/** An endpoint that claims our chain id, and invents blocks far ahead, counts, and hashes of bytes that it drops. */
export const liar: Script = (call) => lie(call)
