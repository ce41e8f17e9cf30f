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
const ORDERS = 300

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
    const other = await inAnotherOrder(recording)
    if (other === undefined) return { recording, difference }
    model = other
  }
  return { recording }
}

/** Plays a recording of geth to the model. */
export async function replay(recording: Recording): Promise<Difference | undefined> {
  const played = await play(recording)
  if (played.difference === undefined) return undefined
  return (await inAnotherOrder(recording)) === undefined ? played.difference : undefined
}

type Played = { readonly model: ModelNode; readonly difference?: Difference }

async function play(recording: Recording, mapOrder?: Random): Promise<Played> {
  const { accounts, steps } = recording.sequence
  const model = createModelNode({ accounts, ...recording, mapOrder })
  for (const [index, outcome] of recording.outcomes.entries()) {
    const expected = await playStep(model, steps[index] as Sequence['steps'][number], outcome.head)
    const difference = differenceOf(index, outcome, expected)
    if (difference !== undefined) return { model, difference }
  }
  return { model }
}

/**
 * A new head that moves several accounts at once moves them in the order of Go's maps, which is random.
 * Returns the model that behaved as geth did, if one of many orders produces it.
 */
async function inAnotherOrder(recording: Recording): Promise<ModelNode | undefined> {
  if (!recording.outcomes.some(({ head }) => head !== undefined)) return undefined
  for (let seed = 1; seed <= ORDERS; seed++) {
    const { model, difference } = await play(recording, createRandom(seed))
    if (difference === undefined) return model
  }
  return undefined
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
