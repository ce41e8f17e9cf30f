import { newestAttempt, wantedClaim } from '../../src/ledger/slot.js'
import { evidence, goneBlock, mined, refutation } from './chainSteps.js'
import { committed, stuckEvent } from './laneSteps.js'
import { words } from './operatorSteps.js'
import { type Machine, take } from './shell.js'
import { Violation } from './violation.js'
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
 * The single step of a world without further adversity: pending work completes, sent bytes arrive, and the
 * newest bytes at the head are included. Undefined if there is nothing left to do.
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

/** The reason why there is nothing left to do although not every transaction has ended: P3 and P8. */
export function unfinished(world: World): Violation | undefined {
  const cursor = cursorOf(world)
  for (let nonce = 0; nonce < cursor; nonce++) {
    const slot = world.slots[nonce]
    if (isFree(world, nonce)) return new Violation('P3', `${nonce} stays empty below a bound nonce`)
    if (slot?.state === 'used' && !slot.settled)
      return new Violation('P8', `${nonce} stays without a verdict`)
    if (slot?.state !== 'used' && slot?.state !== 'final') {
      return new Violation('P3', `${nonce} stays ${slot?.state}`)
    }
  }
  const open = Object.keys(world.fates).filter((claim) => world.fates[claim] === 'open')
  // The scope may have no nonce left for queued transactions.
  const waiting = nextNonce(world) === undefined ? world.queue : []
  const endless = open.find((claim) => !waiting.includes(claim))
  return endless === undefined ? undefined : new Violation('P8', `${endless} comes to no end`)
}

function learn(scope: Scope, machine: Machine, world: World): World | undefined {
  if (world.held) return { ...world, held: false }
  for (let nonce = 0; nonce < world.slots.length; nonce++) {
    const next = learnOf(scope, machine, world, nonce)
    if (next !== world) return next
  }
  return undefined
}

function learnOf(scope: Scope, machine: Machine, world: World, nonce: number): World {
  const gone = goneBlock(world, nonce)
  if (gone !== undefined) {
    return take(scope, machine, world, nonce, { type: 'left', block: gone, token: 2 }).world
  }
  const refuted = refutation(scope, machine, world, nonce)
  if (refuted !== world) return refuted
  const found = evidence(scope, machine, world, nonce, true)
  if (found !== world) return found
  const slot = world.slots[nonce]
  if (slot?.state !== 'used' || slot.settled) return world
  const said = operatorSays(scope, machine, world, nonce)
  if (said !== world) return said
  const deep = (world.chain[nonce]?.depth ?? -1) >= scope.lossDepth
  return deep ? take(scope, machine, world, nonce, { type: 'lossDepth' }).world : world
}

function operatorSays(scope: Scope, machine: Machine, world: World, nonce: number): World {
  let said = world
  words(scope, machine, world, nonce, (_, next) => {
    if (said === world) said = next
  })
  return said
}

/** Completes at once the work that takes no time in the scope. */
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

/** The next queued transaction takes the lowest free nonce; if none is queued the gap timer fires. */
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
