import type { Hash } from 'viem'
import type { SlotEvent } from '../../src/ledger/event.js'
import { lastClaim, type Slot } from '../../src/ledger/slot.js'
import { type Machine, struck, take } from './shell.js'
import {
  add,
  attemptOf,
  type Commit,
  claimOf,
  cursorOf,
  floorOf,
  hashOf,
  isFree,
  isOutsideClaim,
  LANDABLE,
  MISJUDGED,
  nextNonce,
  nonceOf,
  outsideClaim,
  REFUSED,
  type Scope,
  type Signing,
  spend,
  UNCOMMITTED,
  type World,
  without,
} from './world.js'

/** Receives a step that may come next. A step that leads to an identical world is dropped. */
export type Emit = (name: string, world: World) => void

/** The next possible events of the lane's shell, its signer, its store, its callers and its nodes. */
export function laneSteps(scope: Scope, machine: Machine, world: World, emit: Emit): void {
  reservations(scope, machine, world, emit)
  for (const task of world.signing) signatures(scope, machine, world, task, emit)
  for (const commit of world.commits) commitments(scope, machine, world, commit, emit)
  sends(scope, machine, world, emit)
  answers(scope, machine, world, emit)
  repairs(scope, machine, world, emit)
  commands(scope, machine, world, emit)
  outsiders(scope, machine, world, emit)
  if (world.held) emit('the operator resumes', { ...world, held: false })
}

function reservations(scope: Scope, machine: Machine, world: World, emit: Emit): void {
  const nonce = nextNonce(world)
  if (nonce === undefined || world.held) return
  for (const claim of world.queue) {
    const queue = without(world.queue, claim)
    const taken = take(scope, machine, { ...world, queue }, nonce, { type: 'reserve', claim, token: 2 })
    emit(`reserve ${nonce} for ${claim}`, taken.world)
  }
}

function signatures(scope: Scope, machine: Machine, world: World, task: Signing, emit: Emit): void {
  const { nonce, claim, token } = task
  const name = `${nonce} for ${claim ?? 'a no-op'}${token === 1 ? '' : ', stale,'}`
  const done = { ...world, signing: without(world.signing, task) }
  const { world: asked, row } = take(scope, machine, done, nonce, { type: 'committing', token, claim })
  const commits = [...asked.commits, { nonce, attempt: attemptOf(world, nonce, claim) }]
  emit(`bytes of ${name} come back`, row === 4 ? { ...asked, commits } : asked)
  if (world.left.signFails === 0) return
  const failing = spend(done, 'signFails')
  if (claim === undefined) return emit(`signing ${name} fails`, failing)
  for (const why of ['failed', 'again'] as const) {
    const { world: failed } = take(scope, machine, failing, nonce, { type: 'withdraw', claim, why })
    emit(`signing ${name} fails, ${why}`, failed)
  }
}

function commitments(scope: Scope, machine: Machine, world: World, commit: Commit, emit: Emit): void {
  emit(`${commit.attempt.hash} is committed`, committed(scope, machine, world, commit))
  if (world.left.commitLost === 0) return
  const { nonce, attempt } = commit
  const unknown = take(scope, machine, world, nonce, { type: 'commitUnknown', token: 1 })
  const commits = without(world.commits, commit)
  const lost = take(scope, machine, spend({ ...unknown.world, commits }, 'commitLost'), nonce, {
    type: 'notCommitted',
  })
  // The shell still has the bytes: it commits them again, or drops them if they are stale.
  const slot = lost.world.slots[nonce]
  const token = slot?.state === 'reserved' || slot?.state === 'live' ? slot.token : 0
  const signing = [...lost.world.signing, { nonce, claim: attempt.claim, token }]
  emit(`commit of ${attempt.hash} is unknown, then lost`, { ...lost.world, signing })
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

function sends(scope: Scope, machine: Machine, world: World, emit: Emit): void {
  for (const hash of world.outbox) {
    const bits = world.bytes[hash] ?? 0
    const out = { ...world, outbox: without(world.outbox, hash) }
    const { world: sent } = take(scope, machine, out, nonceOf(hash), { type: 'sent', hash })
    const landable = { ...sent, bytes: { ...sent.bytes, [hash]: bits | LANDABLE } }
    emit(`${hash} arrives`, landable)
    const claim = claimOf(hash)
    if (world.left.lie > 0 && claim !== undefined) {
      const bytes = { ...sent.bytes, [hash]: bits | LANDABLE | REFUSED | MISJUDGED }
      const misjudged = { ...sent, bytes, doubtful: add(sent.doubtful, claim) }
      emit(`${hash} arrives, and is refused for good`, spend(misjudged, 'lie'))
    }
    if (world.left.intrinsic === 0) continue
    const refused = { ...sent, bytes: { ...sent.bytes, [hash]: bits | REFUSED } }
    emit(`${hash} is refused for good`, spend(refused, 'intrinsic'))
  }
}

/**
 * Answers come at any time after the send, repeatedly, and in any later state of the nonce. Only `intrinsic`
 * is reliable.
 */
function answers(scope: Scope, machine: Machine, world: World, emit: Emit): void {
  for (const hash of Object.keys(world.bytes) as Hash[]) {
    const nonce = nonceOf(hash)
    const bits = world.bytes[hash] ?? 0
    if (bits & UNCOMMITTED) continue
    const kinds = scope.facts ? ANSWERS : (['nonceTooLow', 'unknown'] as const)
    for (const outcome of [...kinds, ...(bits & REFUSED ? (['intrinsic'] as const) : [])]) {
      const event: SlotEvent = { type: 'outcome', hash, outcome, epoch: 1 }
      emit(`${hash} is answered ${outcome}`, take(scope, machine, world, nonce, event).world)
    }
    if (scope.facts) prices(scope, machine, world, hash, emit)
  }
}

/**
 * A refusal that names the price that the node accepts: for a replacement, or at all, above our fee ceiling.
 */
function prices(scope: Scope, machine: Machine, world: World, hash: Hash, emit: Emit): void {
  const nonce = nonceOf(hash)
  const answer = { type: 'outcome', hash, epoch: 1 } as const
  const stated: SlotEvent = { ...answer, outcome: 'underpriced', stated: true }
  emit(`${hash} is answered underpriced, with a price`, take(scope, machine, world, nonce, stated).world)
  const head = nonce === floorOf(world)
  for (const fillable of world.left.void > 0 ? [true, false] : [false]) {
    const beyond = { head, fillable, signer: true, token: 2 }
    const event: SlotEvent = { ...answer, outcome: 'feeTooLow', beyond }
    const { world: next, row } = take(scope, machine, world, nonce, event)
    const name = `${hash} is answered feeTooLow, above ${fillable ? 'its ceiling' : "the lane's ceiling"}`
    emit(name, row === 20 ? spend(next, 'void') : next)
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

function repairs(scope: Scope, machine: Machine, world: World, emit: Emit): void {
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
      emit(`gap timer at ${nonce}`, take(scope, machine, world, nonce, event).world)
    }
    if (slot?.state !== 'live' && slot?.state !== 'outside') continue
    const head = nonce === floor
    const resent = take(scope, machine, world, nonce, stuckEvent(head, { atCeiling: true, fillable: false }))
    emit(`${nonce} is stuck`, resent.world)
    if (slot.state !== 'live') continue
    if (world.left.bump > 0) {
      const event = stuckEvent(head, { priced: false })
      emit(`${nonce} is stuck below the base fee`, struck(scope, machine, world, 'bump', nonce, event))
      speedUps(scope, machine, world, slot, emit)
    }
    if (world.left.void > 0 && head) {
      const event = stuckEvent(true, { atCeiling: true })
      emit(`${nonce} is stuck at its ceiling`, struck(scope, machine, world, 'void', nonce, event))
    }
  }
}

/** The lane accepts this only for its own transactions, because it cannot re-sign bytes of outside code. */
function speedUps(scope: Scope, machine: Machine, world: World, slot: Slot, emit: Emit): void {
  const claim = lastClaim(slot)
  if (claim === undefined || isOutsideClaim(claim)) return
  const { nonce } = slot
  const event: SlotEvent = { type: 'speedUp', named: true, token: 2 }
  emit(`${claim} is sped up at ${nonce}`, struck(scope, machine, world, 'bump', nonce, event))
}

/** Requests of callers: cancel the last claim of a nonce, or replace A by R. */
function commands(scope: Scope, machine: Machine, world: World, emit: Emit): void {
  if (world.left.cancel > 0) {
    if (world.queue.includes('A')) {
      const queue = without(world.queue, 'A')
      const fates = { ...world.fates, A: 'withdrawn' }
      emit('cancel A in the queue', spend({ ...world, queue, fates }, 'cancel'))
    }
    for (let nonce = 0; nonce < world.slots.length; nonce++) cancels(scope, machine, world, nonce, emit)
  }
  if (world.left.replace === 0) return
  for (const [nonce, slot] of world.slots.entries()) {
    if (slot?.state !== 'live' || lastClaim(slot) !== 'A') continue
    try {
      const event: SlotEvent = { type: 'replace', claim: 'R', token: 2 }
      const taken = take(scope, machine, spend(world, 'replace'), nonce, event)
      const replaced = { ...taken.world, replaced: true, fates: { ...taken.world.fates, R: 'open' } }
      emit(`replace A by R at ${nonce}`, replaced)
    } catch (error) {
      if (!String(error).includes('ledger: replace')) throw error
    }
  }
}

function cancels(scope: Scope, machine: Machine, world: World, nonce: number, emit: Emit): void {
  const slot = world.slots[nonce]
  const claim = slot && lastClaim(slot)
  if (claim !== 'A' && claim !== 'R') return
  const spent = spend(world, 'cancel')
  if (slot?.state === 'reserved') {
    const withdrawn = take(scope, machine, spent, nonce, { type: 'withdraw', claim, why: 'failed' })
    if (withdrawn.row !== 0) emit(`cancel ${claim}, reserved at ${nonce}`, withdrawn.world)
  }
  const { world: next, row } = take(scope, machine, spent, nonce, { type: 'cancel', token: 2 })
  if (row === 0) return
  emit(`cancel ${claim} at ${nonce}`, { ...next, cancelled: [...next.cancelled, claim] })
}

/**
 * Outside code that gets a nonce: it commits its bytes, early or late, releases the nonce, or never reports
 * back.
 */
function outsiders(scope: Scope, machine: Machine, world: World, emit: Emit): void {
  handingOut(scope, machine, world, emit)
  for (const hash of Object.keys(world.bytes) as Hash[]) {
    const bits = world.bytes[hash] ?? 0
    const claim = claimOf(hash)
    if (!(bits & UNCOMMITTED) || claim === undefined) continue
    outsideBytes(scope, machine, world, hash, claim, emit)
  }
  for (const [nonce, slot] of world.slots.entries()) {
    if (slot?.state !== 'outside' || slot.origin !== 'handedOut') continue
    const event: SlotEvent = { type: 'ttl', signer: true, token: 2 }
    emit(`${nonce} is never reported back`, take(scope, machine, world, nonce, event).world)
  }
}

function handingOut(scope: Scope, machine: Machine, world: World, emit: Emit): void {
  const next = nextNonce(world)
  if (next === undefined || world.held) return
  if (world.left.handOut > 0) {
    const { world: out } = take(scope, machine, spend(world, 'handOut'), next, { type: 'handOut' })
    const bytes = { ...out.bytes, [hashOf(outsideClaim(next), next, 0)]: UNCOMMITTED }
    emit(`hand out ${next}`, { ...out, bytes })
  }
  // The nonce was counted by `pending` when the lane began: an unknown transaction may land.
  if (world.left.seeded > 0 && next === 0 && cursorOf(world) === 0 && world.chain.length === 0) {
    const { world: out } = take(scope, machine, spend(world, 'seeded'), next, { type: 'seeded' })
    const bytes = { ...out.bytes, [hashOf('P', next, 0)]: UNCOMMITTED | LANDABLE }
    emit('nonce 0 is pending when the lane begins', { ...out, bytes })
  }
}

/** Bytes of outside code that were not yet committed to the lane. */
function outsideBytes(
  scope: Scope,
  machine: Machine,
  world: World,
  hash: Hash,
  claim: string,
  emit: Emit,
): void {
  const nonce = nonceOf(hash)
  const slot = world.slots[nonce]
  const sent = ((world.bytes[hash] ?? 0) & LANDABLE) > 0
  const withBits = (bits: number): World['bytes'] => ({ ...world.bytes, [hash]: bits })
  if (!sent) {
    emit(`${hash} is sent and not committed`, { ...world, bytes: withBits(UNCOMMITTED | LANDABLE) })
  }
  if (!sent && slot?.state === 'outside') {
    const { [hash]: _, ...bytes } = world.bytes
    const released = take(scope, machine, { ...world, bytes }, nonce, { type: 'released' })
    emit(`release ${nonce}`, released.world)
  }
  if (!mayStillCommit(slot)) return
  const fates = { ...world.fates, [claim]: 'open' }
  const attempt = { ...attemptOf(world, nonce, claim), hash, sends: 1 }
  const event: SlotEvent = { type: 'outsideCommitted', attempt }
  const reported = { ...world, fates, bytes: withBits(LANDABLE) }
  emit(`${hash} is committed from outside`, take(scope, machine, reported, nonce, event).world)
  if (sent || world.left.intrinsic === 0) return
  const refused = spend({ ...reported, bytes: withBits(REFUSED) }, 'intrinsic')
  emit(
    `${hash} is committed from outside, and refused for good`,
    take(scope, machine, refused, nonce, event).world,
  )
}

/** The sender accepts no bytes for a nonce that is its own, or settled. */
function mayStillCommit(slot: Slot | undefined): boolean {
  if (slot?.state === 'used') return !slot.settled && slot.claims.length === 0
  return slot?.state === 'outside' || (slot?.state === 'live' && slot.claims.length === 0)
}
