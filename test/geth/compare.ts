import { isDeepStrictEqual } from 'node:util'
import { type Random, systemClock } from '../../src/platform/clock.js'
import { RESUBMIT_FIRST_MS } from '../../tools/devnet/geth/localTracker.js'
import { createRandom } from '../sim/random.js'
import { pause } from '../support/pause.js'
import { createModelNode, type ModelNode } from './modelNode.js'
import type { RealNode } from './realNode.js'
import type { ChainHead, NodeFlags, Outcome, PoolView, Recording, SendAnswer, Sequence } from './sequence.js'

/** The first difference between the model and geth. */
export type Difference = {
  readonly step: number
  readonly what: string
  readonly geth: unknown
  readonly model: unknown
}

// geth reorganises within a millisecond or two of its answer, or later on a busy machine.
const SETTLE_MS = 5_000
const RESUBMIT_MS = RESUBMIT_FIRST_MS + 5_000
const LOOK_MS = 5
/** Orders that are tried at one step alone, and at some of all steps. */
const ORDERS_OF_ONE = 6
const ORDERS_OF_SOME = 300
/** The share of the steps that get another order together. */
const SOME = 0.3

export type Compared = { readonly recording: Recording; readonly difference?: Difference }

export type Started = {
  readonly geth: RealNode
  /** The time before the node's process was started. */
  readonly startMs: number
  readonly flags: NodeFlags
}

/**
 * Sends the sequence to both, and compares answers, counts and contents after each step. Stops at a
 * difference. A geth that tracks its own transactions re-adds those missing from its pool, 10 s after its
 * start and in the random order of Go's maps. On a machine so busy that the sequence lasts that long, the
 * remaining steps are skipped.
 */
export async function compareWith(
  { geth, startMs, flags }: Started,
  sequence: Sequence,
  fundsWei: bigint,
): Promise<Compared> {
  const { accounts, steps } = sequence
  const resubmits = !flags.noLocals && steps.every(({ kind }) => kind !== 'resubmit')
  const endMs = resubmits ? startMs + RESUBMIT_FIRST_MS : Number.POSITIVE_INFINITY
  await geth.fund(accounts, fundsWei)
  const head = await geth.head(accounts)
  const { client, chainId } = geth
  let model = createModelNode({ accounts, chainId, flags, head })
  let orders: Orders = []
  const outcomes: Outcome[] = []
  const recording: Recording = { client, chainId, flags, sequence, head, outcomes }
  for (const [index, step] of steps.entries()) {
    const answers = step.kind === 'send' ? await geth.send(step.raws) : []
    if (step.kind !== 'send' && step.kind !== 'resubmit') await geth.act(step)
    const isNewHead = step.kind === 'block' || step.kind === 'rewind'
    const newHead = isNewHead ? { head: await geth.head(accounts) } : {}
    const expected = await playStep(model, step, newHead.head)
    const limitMs = step.kind === 'resubmit' ? RESUBMIT_MS : SETTLE_MS
    const view = await settledView(geth, sequence, expected, limitMs)
    if (systemClock.now() > endMs) break
    outcomes.push({ answers, ...newHead, view })
    const difference = differenceOf(index, { answers, view }, expected)
    if (difference === undefined) continue
    const other = await inAnotherOrder(recording, orders)
    if (other === undefined) return { recording, difference }
    model = other.model
    orders = other.orders
  }
  return { recording }
}

/** Plays a recording of geth to the model. */
export async function replay(recording: Recording): Promise<Difference | undefined> {
  const played = await play(recording, [])
  if (played.difference === undefined) return undefined
  return (await inAnotherOrder(recording, [])) === undefined ? played.difference : undefined
}

/** A seed for each step that draws the order of Go's maps; without one, the order in which accounts came. */
type Orders = readonly (number | undefined)[]

type Played = { readonly model: ModelNode; readonly difference?: Difference }

async function play(recording: Recording, orders: Orders): Promise<Played> {
  const { accounts, steps } = recording.sequence
  let random: Random | undefined
  const model = createModelNode({ accounts, ...recording, mapOrder: () => random })
  for (const [index, outcome] of recording.outcomes.entries()) {
    const seed = orders[index]
    random = seed === undefined ? undefined : createRandom(seed)
    const expected = await playStep(model, steps[index] as Sequence['steps'][number], outcome.head)
    const difference = differenceOf(index, outcome, expected)
    if (difference !== undefined) return { model, difference }
  }
  random = undefined
  return { model }
}

/**
 * A new head, a batch of several accounts and a new minimum tip go through Go's maps, in random order
 * (legacypool.go: `queue.addresses`, `accountSet.flatten`, `SetGasTip`). Returns the model that behaved as
 * geth did, if one of many orders produces it.
 */
async function inAnotherOrder(
  recording: Recording,
  orders: Orders,
): Promise<{ readonly model: ModelNode; readonly orders: Orders } | undefined> {
  for (const other of otherOrders(recording.outcomes.length, orders)) {
    const { model, difference } = await play(recording, other)
    if (difference === undefined) return { model, orders: other }
  }
  return undefined
}

/** Other orders at each step alone, the last step first; then at some steps together. */
function* otherOrders(length: number, orders: Orders): Generator<Orders> {
  const all = Array.from({ length }, (_, step) => orders[step])
  for (let step = length - 1; step >= 0; step--)
    for (let seed = 1; seed <= ORDERS_OF_ONE; seed++) yield all.with(step, seed)
  const random = createRandom(length)
  for (let count = 0; count < ORDERS_OF_SOME; count++)
    yield all.map((order) => (random() < SOME ? Math.floor(random() * 2 ** 31) : order))
}

type Expected = {
  readonly answers: readonly SendAnswer[]
  /** The state between the answer and the reorganisation. */
  readonly before: PoolView
  readonly after: PoolView
}

async function playStep(
  model: ModelNode,
  step: Sequence['steps'][number],
  head: ChainHead | undefined,
): Promise<Expected> {
  const answers: SendAnswer[] = []
  if (step.kind === 'send') for (const raw of step.raws) answers.push(await model.send(raw))
  const before = model.view()
  if (step.kind === 'send') model.reorganise()
  else if (step.kind === 'tipMin') model.setTipMin(BigInt(step.wei))
  else if (step.kind === 'resubmit') model.resubmit()
  else if (head !== undefined) model.reset(head)
  return { answers, before, after: model.view() }
}

/** geth's pool, as soon as it is as expected; after the timeout, its current state. */
async function settledView(
  geth: RealNode,
  { accounts }: Sequence,
  { after }: Expected,
  limitMs: number,
): Promise<PoolView> {
  for (const untilMs = systemClock.now() + limitMs; ; await pause(LOOK_MS)) {
    const view = await geth.view(accounts)
    if (isDeepStrictEqual(view, after) || systemClock.now() > untilMs) return view
  }
}

function differenceOf(
  step: number,
  { answers, view }: Pick<Outcome, 'answers' | 'view'>,
  expected: Expected,
): Difference | undefined {
  if (!isDeepStrictEqual(answers, expected.answers)) {
    return { step, what: 'answers', geth: answers, model: expected.answers }
  }
  for (const what of ['latest', 'pendingCounts', 'pending', 'queued'] as const) {
    const [geth, model] = [view[what], expected.after[what]]
    if (!isDeepStrictEqual(geth, model)) return { step, what, geth, model }
  }
  return undefined
}
