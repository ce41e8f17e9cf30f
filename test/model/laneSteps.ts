import type { SlotEvent } from '../../src/ledger/event.js'
import { lastClaim } from '../../src/ledger/slot.js'
import { type Machine, take } from './shell.js'
import {
  attemptOf,
  type Commit,
  cursorOf,
  floorOf,
  isFree,
  LANDABLE,
  nextNonce,
  nonceOf,
  REFUSED,
  type Scope,
  type Signing,
  spend,
  type World,
  without,
} from './world.js'

export type Step = { readonly name: string; readonly world: World }

/** What the lane's own shell, its signer, its store, its callers and its nodes may do next. */
export function* laneSteps(scope: Scope, machine: Machine, world: World): Generator<Step> {
  yield* reservations(scope, machine, world)
  for (const task of world.signing) yield* signatures(scope, machine, world, task)
  for (const commit of world.commits) yield* commitments(scope, machine, world, commit)
  yield* sends(scope, machine, world)
  yield* answers(scope, machine, world)
  yield* repairs(scope, machine, world)
  yield* wishes(scope, machine, world)
  yield* outsiders(scope, machine, world)
}

function* reservations(scope: Scope, machine: Machine, world: World): Generator<Step> {
  const nonce = nextNonce(world)
  if (nonce === undefined) return
  for (const claim of world.queue) {
    const queue = without(world.queue, claim)
    const taken = take(scope, machine, { ...world, queue }, nonce, { type: 'reserve', claim, token: 2 })
    yield { name: `reserve ${nonce} for ${claim}`, world: taken.world }
  }
}

function* signatures(scope: Scope, machine: Machine, world: World, task: Signing): Generator<Step> {
  const { nonce, claim, token } = task
  const name = `${nonce} for ${claim ?? 'a no-op'}${token === 1 ? '' : ', stale,'}`
  const done = { ...world, signing: without(world.signing, task) }
  const { world: asked, row } = take(scope, machine, done, nonce, { type: 'committing', token, claim })
  const commits = [...asked.commits, { nonce, attempt: attemptOf(world, nonce, claim) }]
  yield { name: `bytes of ${name} come back`, world: row === 4 ? { ...asked, commits } : asked }
  if (world.left.signFails === 0) return
  const failing = spend(done, 'signFails')
  if (claim === undefined) return yield { name: `signing ${name} fails`, world: failing }
  for (const why of ['failed', 'again'] as const) {
    const { world: failed } = take(scope, machine, failing, nonce, { type: 'withdraw', claim, why })
    yield { name: `signing ${name} fails, ${why}`, world: failed }
  }
}

function* commitments(scope: Scope, machine: Machine, world: World, commit: Commit): Generator<Step> {
  yield { name: `${commit.attempt.hash} is committed`, world: committed(scope, machine, world, commit) }
  if (world.left.commitLost === 0) return
  const { nonce, attempt } = commit
  const unknown = take(scope, machine, world, nonce, { type: 'commitUnknown', token: 1 })
  const commits = without(world.commits, commit)
  const lost = take(scope, machine, spend({ ...unknown.world, commits }, 'commitLost'), nonce, {
    type: 'notCommitted',
  })
  // The shell still has the bytes: it hands them over again, or drops them where they have gone stale.
  const slot = lost.world.slots[nonce]
  const token = slot?.state === 'reserved' || slot?.state === 'live' ? slot.token : 0
  const signing = [...lost.world.signing, { nonce, claim: attempt.claim, token }]
  yield { name: `commit of ${attempt.hash} is unknown, then lost`, world: { ...lost.world, signing } }
}

export function committed(scope: Scope, machine: Machine, world: World, commit: Commit): World {
  const { nonce, attempt } = commit
  const slot = world.slots[nonce]
  const token = slot?.state === 'reserved' || slot?.state === 'live' ? slot.token : 0
  const kept = {
    ...world,
    commits: without(world.commits, commit),
    bytes: { ...world.bytes, [attempt.hash]: world.bytes[attempt.hash] ?? 0 },
  }
  return take(scope, machine, kept, nonce, { type: 'journaled', token, attempt }).world
}

function* sends(scope: Scope, machine: Machine, world: World): Generator<Step> {
  for (const hash of world.outbox) {
    const bits = world.bytes[hash] ?? 0
    const out = { ...world, outbox: without(world.outbox, hash) }
    const { world: sent } = take(scope, machine, out, nonceOf(hash), { type: 'sent', hash })
    const landable = { ...sent, bytes: { ...sent.bytes, [hash]: bits | LANDABLE } }
    yield { name: `${hash} arrives`, world: landable }
    if (world.left.intrinsic === 0) continue
    const refused = { ...sent, bytes: { ...sent.bytes, [hash]: bits | REFUSED } }
    yield { name: `${hash} is refused for good`, world: spend(refused, 'intrinsic') }
  }
}

/** Answers may come at any time after the send, and twice; only `intrinsic` says something that is true. */
function* answers(scope: Scope, machine: Machine, world: World): Generator<Step> {
  for (const hash of Object.keys(world.bytes) as `0x${string}`[]) {
    const nonce = nonceOf(hash)
    if (world.slots[nonce]?.state !== 'live') continue
    const bits = world.bytes[hash] ?? 0
    const kinds = scope.facts ? ANSWERS : (['nonceTooLow', 'unknown'] as const)
    for (const outcome of [...kinds, ...(bits & REFUSED ? (['intrinsic'] as const) : [])]) {
      const event: SlotEvent = { type: 'outcome', hash, outcome, epoch: 1 }
      yield { name: `${hash} is answered ${outcome}`, world: take(scope, machine, world, nonce, event).world }
    }
  }
}

const ANSWERS = [
  'accepted',
  'unknown',
  'counted',
  'feeTooLow',
  'underpriced',
  'nonceTooLow',
  'refused',
] as const

export const stuckEvent = (
  head: boolean,
  over: { atCeiling?: boolean; priced?: boolean; fillable?: boolean },
): SlotEvent => ({
  type: 'stuck',
  head,
  atCeiling: false,
  priced: true,
  fillable: true,
  signer: true,
  token: 2,
  ...over,
})

function* repairs(scope: Scope, machine: Machine, world: World): Generator<Step> {
  const cursor = cursorOf(world)
  const floor = floorOf(world)
  for (let nonce = 0; nonce < cursor; nonce++) {
    const slot = world.slots[nonce]
    if (isFree(world, nonce)) {
      const event: SlotEvent = {
        type: 'gapTimer',
        boundAbove: true,
        waiting: world.queue.length > 0,
        token: 2,
      }
      yield { name: `gap timer at ${nonce}`, world: take(scope, machine, world, nonce, event).world }
    }
    if (slot?.state !== 'live' && slot?.state !== 'outside') continue
    const head = nonce === floor
    const resent = take(scope, machine, world, nonce, stuckEvent(head, { atCeiling: true, fillable: false }))
    yield { name: `${nonce} is stuck`, world: resent.world }
    if (slot.state !== 'live') continue
    if (world.left.bump > 0) {
      const event = stuckEvent(head, { priced: false })
      yield {
        name: `${nonce} is stuck below the base fee`,
        world: take(scope, machine, spend(world, 'bump'), nonce, event).world,
      }
      if (scope.facts) {
        const spedUp = take(scope, machine, spend(world, 'bump'), nonce, { type: 'speedUp' })
        yield { name: `${nonce} is sped up`, world: spedUp.world }
      }
    }
    if (world.left.void > 0 && head) {
      const event = stuckEvent(true, { atCeiling: true })
      yield {
        name: `${nonce} is stuck at its ceiling`,
        world: take(scope, machine, spend(world, 'void'), nonce, event).world,
      }
    }
  }
}

/** What callers ask for: cancel the last claim of a nonce, or replace A by R. */
function* wishes(scope: Scope, machine: Machine, world: World): Generator<Step> {
  if (world.left.cancel > 0) {
    if (world.queue.includes('A')) {
      const queue = without(world.queue, 'A')
      const fates = { ...world.fates, A: 'withdrawn' }
      yield { name: 'cancel A in the queue', world: spend({ ...world, queue, fates }, 'cancel') }
    }
    for (let nonce = 0; nonce < world.slots.length; nonce++) yield* cancels(scope, machine, world, nonce)
  }
  if (world.left.replace === 0) return
  for (const [nonce, slot] of world.slots.entries()) {
    if (slot?.state !== 'live' || lastClaim(slot) !== 'A') continue
    try {
      const event: SlotEvent = { type: 'replace', claim: 'R', token: 2 }
      const taken = take(scope, machine, spend(world, 'replace'), nonce, event)
      const replaced = { ...taken.world, replaced: true, fates: { ...taken.world.fates, R: 'open' } }
      yield { name: `replace A by R at ${nonce}`, world: replaced }
    } catch (error) {
      if (!String(error).includes('ledger: replace')) throw error
    }
  }
}

function* cancels(scope: Scope, machine: Machine, world: World, nonce: number): Generator<Step> {
  const slot = world.slots[nonce]
  const claim = slot && lastClaim(slot)
  if (claim === undefined || claim === 'B') return
  const spent = spend(world, 'cancel')
  if (slot?.state === 'reserved') {
    const withdrawn = take(scope, machine, spent, nonce, { type: 'withdraw', claim, why: 'failed' })
    if (withdrawn.row !== 0) yield { name: `cancel ${claim}, reserved at ${nonce}`, world: withdrawn.world }
  }
  const { world: next, row } = take(scope, machine, spent, nonce, { type: 'cancel', token: 2 })
  if (row === 0) return
  yield { name: `cancel ${claim} at ${nonce}`, world: { ...next, cancelled: [...next.cancelled, claim] } }
}

/** Outside code that is handed a nonce: it commits its bytes, releases it, or is never heard of again. */
function* outsiders(scope: Scope, machine: Machine, world: World): Generator<Step> {
  const next = nextNonce(world)
  if (world.left.handOut > 0 && next !== undefined) {
    const out = take(scope, machine, spend(world, 'handOut'), next, { type: 'handOut' })
    yield { name: `hand out ${next}`, world: out.world }
  }
  for (const [nonce, slot] of world.slots.entries()) {
    if (slot === undefined) continue
    const hash = `0xO${nonce}a` as const
    const late =
      slot.state === 'live' &&
      slot.claims.length === 0 &&
      world.left.handOut < (scope.adversities.handOut ?? 0)
    if (world.bytes[hash] !== undefined) continue
    if ((slot.state === 'outside' && slot.origin === 'handedOut') || late) {
      const attempt = { ...attemptOf(world, nonce, undefined), hash }
      const known = { ...world, bytes: { ...world.bytes, [hash]: LANDABLE } }
      const event: SlotEvent = { type: 'outsideCommitted', attempt }
      yield { name: `outside bytes of ${nonce}`, world: take(scope, machine, known, nonce, event).world }
    }
    if (slot.state !== 'outside' || slot.origin !== 'handedOut') continue
    yield { name: `release ${nonce}`, world: take(scope, machine, world, nonce, { type: 'released' }).world }
    const event: SlotEvent = { type: 'ttl', signer: true, token: 2 }
    yield { name: `${nonce} is not heard of`, world: take(scope, machine, world, nonce, event).world }
  }
}
