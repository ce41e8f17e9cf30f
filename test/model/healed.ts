import { newestAttempt, wantedClaim } from '../../src/ledger/slot.js'
import { evidence, mined, words } from './chainSteps.js'
import { committed, stuckEvent } from './laneSteps.js'
import { type Machine, take } from './shell.js'
import {
  attemptOf,
  cursorOf,
  floorOf,
  isFree,
  LANDABLE,
  nextNonce,
  nonceOf,
  type Scope,
  type World,
  without,
} from './world.js'

/**
 * The one step that a world without any more adversity takes: everything under way completes, what is sent arrives,
 * the newest bytes at the head are included. Undefined where nothing is left to do.
 */
export function healedStep(scope: Scope, machine: Machine, world: World): World | undefined {
  return (
    learn(scope, machine, world) ??
    commit(scope, machine, world) ??
    sign(scope, machine, world) ??
    send(scope, machine, world) ??
    fill(scope, machine, world) ??
    include(scope, machine, world)
  )
}

/** Whether every transaction has come to its end, and nothing is left open nor empty in between. */
export function isDone(world: World): boolean {
  const ended = Object.values(world.fates).every((fate) => fate !== 'open')
  const starved = world.queue.length > 0 && nextNonce(world) === undefined && bound(world).length === 0
  const settled = bound(world).length === 0 && floorOf(world) >= cursorOf(world)
  return settled && (ended || starved)
}

const bound = (world: World) =>
  world.slots.filter((slot) => {
    if (slot === undefined || slot.state === 'hole' || slot.state === 'final') return false
    return slot.state !== 'used' || !slot.settled
  })

function learn(scope: Scope, machine: Machine, world: World): World | undefined {
  for (let nonce = 0; nonce < world.chain.length; nonce++) {
    const slot = world.slots[nonce]
    if (slot?.state !== 'reserved' || slot.committing === 0) {
      const found = evidence(scope, machine, world, nonce)
      if (found !== undefined && found !== world) return found
    }
    if (slot?.state !== 'used' || slot.settled) continue
    for (const word of words(scope, machine, world, nonce)) if (word.world !== world) return word.world
    const deep = (world.chain[nonce]?.depth ?? -1) >= scope.lossDepth
    const verdict = deep ? take(scope, machine, world, nonce, { type: 'lossDepth' }).world : world
    if (verdict !== world) return verdict
  }
  return undefined
}

/** Completes at once what takes no time in the scope. */
export function eager(scope: Scope, machine: Machine, world: World): World {
  const slow = scope.slow ?? []
  let next = world
  for (let more: World | undefined = world; more !== undefined; ) {
    next = more
    more =
      (slow.includes('commit') ? undefined : commit(scope, machine, next)) ??
      (slow.includes('sign') ? undefined : sign(scope, machine, next)) ??
      (slow.includes('send') ? undefined : send(scope, machine, next))
  }
  return next
}

function commit(scope: Scope, machine: Machine, world: World): World | undefined {
  const [first] = world.commits
  return first && committed(scope, machine, world, first)
}

function sign(scope: Scope, machine: Machine, world: World): World | undefined {
  const [task] = world.signing
  if (task === undefined) return undefined
  const { nonce, claim, token } = task
  const done = { ...world, signing: without(world.signing, task) }
  const { world: asked, row } = take(scope, machine, done, nonce, { type: 'committing', token, claim })
  return row === 4
    ? { ...asked, commits: [...asked.commits, { nonce, attempt: attemptOf(world, nonce, claim) }] }
    : asked
}

function send(scope: Scope, machine: Machine, world: World): World | undefined {
  const [hash] = world.outbox
  if (hash === undefined) return undefined
  const out = { ...world, outbox: without(world.outbox, hash) }
  const sent = take(scope, machine, out, nonceOf(hash), { type: 'sent', hash }).world
  return { ...sent, bytes: { ...sent.bytes, [hash]: (sent.bytes[hash] ?? 0) | LANDABLE } }
}

/** The next waiting transaction takes the lowest free nonce; with none waiting the gap timer fires. */
function fill(scope: Scope, machine: Machine, world: World): World | undefined {
  const nonce = nextNonce(world)
  const [claim] = world.queue
  if (nonce === undefined) return undefined
  if (claim !== undefined) {
    const queue = without(world.queue, claim)
    return take(scope, machine, { ...world, queue }, nonce, { type: 'reserve', claim, token: 2 }).world
  }
  if (nonce >= cursorOf(world)) return undefined
  const event = { type: 'gapTimer', boundAbove: true, waiting: false, token: 2 } as const
  return take(scope, machine, world, nonce, event).world
}

function include(scope: Scope, machine: Machine, world: World): World | undefined {
  const head = floorOf(world)
  const slot = world.slots[head]
  if (slot?.state === 'live') {
    const newest = newestAttempt(slot)
    const wanted = newest !== undefined && newest.claim === wantedClaim(slot)
    const landable = newest !== undefined && ((world.bytes[newest.hash] ?? 0) & LANDABLE) > 0
    if (wanted && landable && world.chain.length === head) {
      return mined(scope, machine, world, newest.hash)
    }
  }
  if (slot?.state === 'outside' && slot.origin === 'handedOut') {
    return take(scope, machine, world, head, { type: 'ttl', signer: true, token: 2 }).world
  }
  if (slot !== undefined && !isFree(world, head)) {
    const { world: next } = take(
      scope,
      machine,
      world,
      head,
      stuckEvent(true, { atCeiling: true, fillable: false }),
    )
    if (next !== world) return next
  }
  const shallow = world.chain.some((use) => use.depth < scope.lossDepth)
  return shallow ? mined(scope, machine, world, undefined) : undefined
}
