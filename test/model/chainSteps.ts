import type { Hash } from 'viem'
import type { SlotEvent } from '../../src/ledger/event.js'
import type { Step } from './laneSteps.js'
import { committed } from './laneSteps.js'
import { type Machine, take } from './shell.js'
import {
  blockRef,
  claimOf,
  DEAD,
  LANDABLE,
  nonceOf,
  type Scope,
  spend,
  type Use,
  type World,
} from './world.js'

/** What the chain may do next, what the lane may learn of it, and the change of holder. */
export function* chainSteps(scope: Scope, machine: Machine, world: World): Generator<Step> {
  yield* blocks(scope, machine, world)
  yield* reorgs(scope, machine, world)
  for (let nonce = 0; nonce < world.slots.length; nonce++) yield* findings(scope, machine, world, nonce)
  if (world.left.takeover > 0) yield* takeovers(scope, machine, world)
}

function* candidates(world: World, nonce: number): Generator<{ hash: Hash; world: World }> {
  for (const hash of Object.keys(world.bytes) as Hash[]) {
    const bits = world.bytes[hash] ?? 0
    if (nonceOf(hash) === nonce && bits & LANDABLE && !(bits & DEAD)) yield { hash, world }
  }
  if (world.left.foreign > 0) yield { hash: `0xF${nonce}a`, world: spend(world, 'foreign') }
}

function* blocks(scope: Scope, machine: Machine, world: World): Generator<Step> {
  const nonce = world.chain.length
  if (nonce < scope.nonces) {
    for (const found of candidates(world, nonce)) {
      yield { name: `a block with ${found.hash}`, world: mined(scope, machine, found.world, found.hash) }
      // Where evidence may be missing, the body of a block may as well go unread until later, or for ever.
      if (world.left.passed > 0) {
        const chain = chainWith(scope, found.world, found.hash)
        yield { name: `a block with ${found.hash}, not read`, world: { ...found.world, chain } }
      }
    }
  }
  const waits = world.chain.some((use) => use.depth < scope.lossDepth)
  if (waits) yield { name: 'an empty block', world: mined(scope, machine, world, undefined) }
}

export function mined(scope: Scope, machine: Machine, world: World, hash: Hash | undefined): World {
  return walked(scope, machine, world, chainWith(scope, world, hash))
}

function chainWith(scope: Scope, world: World, hash: Hash | undefined): readonly Use[] {
  const deeper = world.chain.map((use) => ({ ...use, depth: Math.min(scope.lossDepth, use.depth + 1) }))
  return hash === undefined ? deeper : [...deeper, { hash, block: blockName(world, hash), depth: 0 }]
}

/** Blocks with the same content before and after a reorg are two blocks. */
const blockName = (world: World, hash: Hash): Hash => `${hash}${world.left.reorg}`

/** The newest blocks, fewer than `lossDepth` deep, are replaced by as many that hold something else, or nothing. */
function* reorgs(scope: Scope, machine: Machine, world: World): Generator<Step> {
  if (world.left.reorg === 0) return
  for (let depth = 1; depth <= scope.lossDepth; depth++) {
    const kept = world.chain.filter((use) => use.depth >= depth)
    if (kept.length === world.chain.length) continue
    const forked = spend(world, 'reorg')
    yield { name: `a reorg of ${depth}, empty`, world: walked(scope, machine, forked, kept) }
    if (kept.length === scope.nonces) continue
    for (const { hash, world: next } of candidates(forked, kept.length)) {
      const chain = [...kept, { hash, block: blockName(next, hash), depth: depth - 1 }]
      yield { name: `a reorg of ${depth} with ${hash}`, world: walked(scope, machine, next, chain) }
    }
  }
}

/** The walk: blocks that left are told before those that took their place. Evidence is found later, if ever. */
function walked(scope: Scope, machine: Machine, world: World, chain: readonly Use[]): World {
  let next: World = { ...world, chain }
  for (const [nonce, use] of [...world.chain.entries()].reverse()) {
    if (chain[nonce]?.block === use.block) continue
    next = take(scope, machine, next, nonce, { type: 'left', block: blockRef(use), token: 2 }).world
  }
  for (const [nonce, use] of chain.entries()) {
    if (world.chain[nonce]?.block === use.block || !knows(next, nonce, use.hash)) continue
    next = take(scope, machine, next, nonce, { type: 'sealed', hash: use.hash, block: blockRef(use) }).world
  }
  return next
}

const knows = (world: World, nonce: number, hash: Hash): boolean =>
  world.slots[nonce]?.attempts.some((attempt) => attempt.hash === hash) ?? false

function* findings(scope: Scope, machine: Machine, world: World, nonce: number): Generator<Step> {
  const slot = world.slots[nonce]
  const use = world.chain[nonce]
  if (world.left.foreign > 0 && slot?.state === 'live') {
    const event: SlotEvent = { type: 'preconfirmed', hash: `0xF${nonce}a`, blockNumber: 1 }
    yield {
      name: `something foreign is preconfirmed at ${nonce}`,
      world: take(scope, machine, world, nonce, event).world,
    }
  }
  if (scope.facts && slot?.state === 'live') yield* preconfirmations(scope, machine, world, nonce)
  if (use === undefined) return
  const found = evidence(scope, machine, world, nonce)
  if (found !== undefined) yield { name: `evidence at ${nonce}`, world: found }
  const deep = use.depth >= scope.lossDepth
  if (deep && world.left.passed > 0 && slot?.state !== 'used' && slot?.state !== 'final') {
    const passed = take(scope, machine, spend(world, 'passed'), nonce, { type: 'passed' })
    yield { name: `no evidence to be had at ${nonce}`, world: passed.world }
  }
  if (slot?.state !== 'used') return
  if (slot.by.kind === 'unproven') yield* words(scope, machine, world, nonce)
  if (deep && slot.at !== undefined) {
    const verdict = take(scope, machine, world, nonce, { type: 'lossDepth' })
    yield { name: `verdict at ${nonce}`, world: verdict.world }
  }
  // Pruned as soon as the machine allows: what it gives away too early is missed later.
  yield { name: `horizon at ${nonce}`, world: take(scope, machine, world, nonce, { type: 'horizon' }).world }
}

function* preconfirmations(scope: Scope, machine: Machine, world: World, nonce: number): Generator<Step> {
  for (const { hash } of candidates(world, nonce)) {
    const event: SlotEvent = { type: 'preconfirmed', hash, blockNumber: 1 }
    yield { name: `${hash} is preconfirmed`, world: take(scope, machine, world, nonce, event).world }
  }
  const off = take(scope, machine, world, nonce, { type: 'notPreconfirmed', blockNumber: 1 })
  yield { name: `the preconfirmation of ${nonce} is taken back`, world: off.world }
}

/** Undefined where the slot knows already, or nobody used the nonce on the walked chain. */
export function evidence(scope: Scope, machine: Machine, world: World, nonce: number): World | undefined {
  const slot = world.slots[nonce]
  const use = world.chain[nonce]
  const open = slot?.state !== 'final' && (slot?.state !== 'used' || slot.by.kind === 'unproven')
  if (use === undefined || !open) return undefined
  const event: SlotEvent = knows(world, nonce, use.hash)
    ? { type: 'sealed', hash: use.hash, block: blockRef(use) }
    : { type: 'evidence', hash: use.hash, block: blockRef(use) }
  return take(scope, machine, world, nonce, event).world
}

/** The operator says the truth. */
export function* words(scope: Scope, machine: Machine, world: World, nonce: number): Generator<Step> {
  const slot = world.slots[nonce]
  const use = world.chain[nonce]
  if (slot?.state !== 'used' || use === undefined || use.depth < scope.lossDepth) return
  for (const claim of slot.claims) {
    const fate = claimOf(use.hash) === claim ? 'executed' : 'notExecuted'
    const { world: next } = take(scope, machine, world, nonce, { type: 'resolve', claim, fate })
    yield { name: `the operator says that ${claim} was ${fate}`, world: next }
  }
}

/**
 * Another process takes the lane. Commits under way took, or did not; whatever is journaled may have been sent by
 * the one before, and how often is not known any more.
 */
function* takeovers(scope: Scope, machine: Machine, world: World): Generator<Step> {
  const spent = spend({ ...world, signing: [], outbox: [] }, 'takeover')
  for (let taken = 0; taken < 2 ** world.commits.length; taken++) {
    let next: World = spent
    for (const [index, commit] of world.commits.entries()) {
      if (taken & (2 ** index)) next = committed(scope, machine, next, commit)
    }
    next = { ...next, commits: [], signing: [], outbox: [] }
    next = inherited(next)
    for (const [nonce, slot] of next.slots.entries()) {
      if (slot?.state !== 'reserved') continue
      next = take(scope, machine, next, nonce, { type: 'withdraw', claim: slot.claim, why: 'again' }).world
    }
    yield { name: `takeover, ${taken} of the commits took`, world: next }
  }
}

function inherited(world: World): World {
  const slots = world.slots.map((slot) => {
    if (slot === undefined) return slot
    const attempts = slot.attempts.map((attempt) => ({ ...attempt, epoch: 0, sends: 0 }))
    return 'committing' in slot ? { ...slot, attempts, committing: 0 } : { ...slot, attempts }
  })
  const bytes = Object.fromEntries(
    Object.entries(world.bytes).map(([hash, bits]) => [hash, bits & DEAD ? bits : LANDABLE]),
  )
  return { ...world, slots, bytes }
}
