import type { Hash } from 'viem'
import type { SlotEvent } from '../../src/ledger/event.js'
import type { BlockRef } from '../../src/ledger/slot.js'
import { committed, type Emit } from './laneSteps.js'
import { words, wrongWords } from './operatorSteps.js'
import { type Machine, struck, take } from './shell.js'
import {
  blockRef,
  DEAD,
  hashOf,
  LANDABLE,
  MISJUDGED,
  nonceOf,
  outsideClaim,
  type Scope,
  spend,
  UNCOMMITTED,
  type Use,
  type World,
} from './world.js'

/** The next possible events of the chain, the observations of the lane, and the change of lease owner. */
export function chainSteps(scope: Scope, machine: Machine, world: World, emit: Emit): void {
  blocks(scope, machine, world, emit)
  reorgs(scope, machine, world, emit)
  deepReorgs(scope, machine, world, emit)
  for (let nonce = 0; nonce < world.slots.length; nonce++) findings(scope, machine, world, nonce, emit)
  if (world.left.takeover > 0) takeovers(scope, machine, world, emit)
}

function* candidates(world: World, nonce: number): Generator<{ hash: Hash; world: World }> {
  for (const hash of Object.keys(world.bytes) as Hash[]) {
    const bits = world.bytes[hash] ?? 0
    if (nonceOf(hash) === nonce && bits & LANDABLE && !(bits & DEAD)) yield { hash, world }
  }
  if (world.left.foreign > 0) yield { hash: `0xF${nonce}a`, world: spend(world, 'foreign') }
}

function blocks(scope: Scope, machine: Machine, world: World, emit: Emit): void {
  const nonce = world.chain.length
  if (nonce < scope.nonces) {
    for (const found of candidates(world, nonce)) {
      emit(`a block with ${found.hash}`, mined(scope, machine, found.world, found.hash))
      // If evidence may be missing, a block's body may also stay unread until later, or forever.
      if (world.left.passed > 0) {
        const chain = chainWith(scope, found.world, found.hash)
        emit(`a block with ${found.hash}, not read`, { ...found.world, chain })
      }
    }
  }
  const waits = world.chain.some((use) => use.depth < scope.lossDepth)
  if (waits) emit('an empty block', mined(scope, machine, world, undefined))
}

export function mined(scope: Scope, machine: Machine, world: World, hash: Hash | undefined): World {
  return walked(scope, machine, world, chainWith(scope, world, hash))
}

function chainWith(scope: Scope, world: World, hash: Hash | undefined): readonly Use[] {
  const deeper = world.chain.map((use) => ({ ...use, depth: Math.min(scope.lossDepth, use.depth + 1) }))
  return hash === undefined ? deeper : [...deeper, { hash, block: blockName(world, hash), depth: 0 }]
}

/**
 * Blocks with the same content before and after a reorg are two blocks: the second needs a name that is not
 * in use.
 */
function blockName(world: World, hash: Hash): Hash {
  const nonce = nonceOf(hash)
  const slot = world.slots[nonce]
  const known = [slot?.state === 'used' ? slot.at?.hash : undefined, world.chain[nonce]?.block]
  const names = [...known, ...world.stale.map((use) => use.block)]
  for (let fork = 0; ; fork++) {
    const name: Hash = `${hash}${fork}`
    if (!names.includes(name)) return name
  }
}

/**
 * Replaces the newest blocks, fewer than `lossDepth` deep, by as many others with different or no content.
 */
function reorgs(scope: Scope, machine: Machine, world: World, emit: Emit): void {
  if (world.left.reorg === 0) return
  for (let depth = 1; depth <= scope.lossDepth; depth++) {
    const kept = world.chain.filter((use) => use.depth >= depth)
    if (kept.length === world.chain.length) continue
    const forked = spend(world, 'reorg')
    emit(`a reorg of ${depth}, empty`, walked(scope, machine, forked, kept))
    if (kept.length === scope.nonces) continue
    for (const { hash, world: next } of candidates(forked, kept.length)) {
      const chain = [...kept, { hash, block: blockName(next, hash), depth: depth - 1 }]
      emit(`a reorg of ${depth} with ${hash}`, walked(scope, machine, next, chain))
    }
  }
}

/**
 * A reorg that removes transactions with verdicts; not beyond the horizon, where no repairable data is kept.
 */
function deepReorgs(scope: Scope, machine: Machine, world: World, emit: Emit): void {
  if (world.left.deepReorg === 0) return
  const settled = world.chain.findIndex((use) => use.depth >= scope.lossDepth)
  if (settled < 0) return
  const forked = spend(world, 'deepReorg')
  for (let length = 0; length < world.chain.length; length++) {
    if ((world.chain[length]?.depth ?? 0) < scope.lossDepth) break
    if (world.slots.some((slot, nonce) => nonce >= length && slot?.state === 'final')) continue
    const kept = world.chain.slice(0, length)
    emit(`a deep reorg down to ${length}`, walked(scope, machine, forked, kept))
  }
}

/**
 * The walk: blocks that left are reported before the blocks that replaced them. Evidence is found later, if
 * ever.
 */
function walked(scope: Scope, machine: Machine, world: World, chain: readonly Use[]): World {
  const gone = world.chain.filter((use, nonce) => chain[nonce]?.block !== use.block)
  const stale = world.left.staleFork > 0 ? [...world.stale, ...gone] : NONE
  let next: World = { ...world, chain, stale }
  for (const use of [...gone].reverse()) {
    const event: SlotEvent = { type: 'left', block: blockRef(use), token: 2 }
    next = take(scope, machine, next, nonceOf(use.hash), event).world
  }
  for (const [nonce, use] of chain.entries()) {
    if (world.chain[nonce]?.block === use.block || !knows(next, nonce, use.hash)) continue
    const sealed: SlotEvent = { type: 'sealed', hash: use.hash, block: blockRef(use), walked: true }
    next = take(scope, machine, next, nonce, sealed).world
  }
  return next
}

const NONE: readonly Use[] = []

const knows = (world: World, nonce: number, hash: Hash): boolean =>
  world.slots[nonce]?.attempts.some((attempt) => attempt.hash === hash) ?? false

/** Observations about a nonce. True ones are repeated at any time, even if the slot knows them already. */
function findings(scope: Scope, machine: Machine, world: World, nonce: number, emit: Emit): void {
  const slot = world.slots[nonce]
  if (world.left.foreign > 0 && slot?.state === 'live') {
    const event: SlotEvent = { type: 'preconfirmed', hash: hashOf('F', nonce, 0), blockNumber: 1 }
    emit(`something foreign is preconfirmed at ${nonce}`, take(scope, machine, world, nonce, event).world)
  }
  if (scope.facts && slot?.state === 'live') preconfirmations(scope, machine, world, nonce, emit)
  staleFindings(scope, machine, world, nonce, emit)
  counts(scope, machine, world, nonce, emit)
  if (world.left.lie > 0) lies(scope, machine, world, nonce, emit)
  words(scope, machine, world, nonce, emit)
  if (world.left.wrongWord > 0) wrongWords(scope, machine, world, nonce, emit)
  const use = world.chain[nonce]
  if (use === undefined) return
  emit(`evidence at ${nonce}`, evidence(scope, machine, world, nonce))
  emit(`the walk comes by ${nonce}`, evidence(scope, machine, world, nonce, true))
  // The hash that used the nonce matters only if outside code may still commit its bytes.
  if (world.bytes[hashOf(outsideClaim(nonce), nonce, 0)] === (UNCOMMITTED | LANDABLE)) {
    const { world: found } = take(scope, machine, world, nonce, usedIn(world, nonce, use, use.hash))
    emit(`evidence at ${nonce}, in a body`, found)
  }
  if (use.depth >= scope.lossDepth) deepFindings(scope, machine, world, nonce, use, emit)
}

function deepFindings(
  scope: Scope,
  machine: Machine,
  world: World,
  nonce: number,
  use: Use,
  emit: Emit,
): void {
  const slot = world.slots[nonce]
  if (world.left.passed > 0) {
    const passed = struck(scope, machine, world, 'passed', nonce, { type: 'passed' })
    emit(`no evidence to be had at ${nonce}`, passed)
  }
  if (slot?.state !== 'used' || slot.at?.hash === use.block) {
    const verdict = take(scope, machine, world, nonce, { type: 'lossDepth' })
    emit(`verdict at ${nonce}`, verdict.world)
  }
}

/** A count that is read while the nonce is unused refutes the belief that it is used. */
function counts(scope: Scope, machine: Machine, world: World, nonce: number, emit: Emit): void {
  const refuted = refutation(scope, machine, world, nonce)
  if (refuted !== world) emit(`the count is seen to be no higher than ${nonce}`, refuted)
}

export function refutation(scope: Scope, machine: Machine, world: World, nonce: number): World {
  const slot = world.slots[nonce]
  const isBelieved = slot?.state === 'used' && slot.at === undefined
  if (!isBelieved || world.chain[nonce] !== undefined) return world
  return take(scope, machine, world, nonce, { type: 'refuted', token: 2 }).world
}

/**
 * An endpoint errs: a count is too high for long, or too low, a body is shown without its transactions, or a
 * head jumps back. A witness cannot be forged, so none of these errors proves a foreign use.
 */
function lies(scope: Scope, machine: Machine, world: World, nonce: number, emit: Emit): void {
  const slot = world.slots[nonce]
  const struckBy = (event: SlotEvent) => struck(scope, machine, world, 'lie', nonce, event)
  if (world.chain[nonce] === undefined && (slot?.state === 'live' || slot?.state === 'outside'))
    emit(`a count that is too high passes ${nonce}`, struckBy({ type: 'passed' }))
  if (slot?.state !== 'used') return
  if (slot.by.kind === 'unproven')
    emit(`a count that is too low is read at ${nonce}`, struckBy({ type: 'refuted', token: 2 }))
  if (slot.at === undefined || slot.settled) return
  const block = slot.at
  emit(`the body that used ${nonce} is shown without it`, struckBy({ type: 'unwitnessed', block, token: 2 }))
  emit(`the block that used ${nonce} is not shown`, struckBy({ type: 'left', block, token: 2 }))
}

/** Reports of an endpoint that followed an orphaned fork, and repeated reports that its blocks are gone. */
function staleFindings(scope: Scope, machine: Machine, world: World, nonce: number, emit: Emit): void {
  for (const use of world.left.staleFork > 0 ? world.stale : NONE) {
    if (nonceOf(use.hash) !== nonce) continue
    const event = usedIn(world, nonce, use, undefined)
    const found = struck(scope, machine, world, 'staleFork', nonce, event)
    emit(`${use.hash} is seen at ${nonce} on a fork that lost`, found)
  }
  const gone = goneBlock(world, nonce)
  if (gone !== undefined) {
    const event: SlotEvent = { type: 'left', block: gone, token: 2 }
    emit(`the block that used ${nonce} is gone`, take(scope, machine, world, nonce, event).world)
  }
}

/** The block that is believed to have used a nonce, if it is not on the chain. */
export function goneBlock(world: World, nonce: number): BlockRef | undefined {
  const slot = world.slots[nonce]
  const at = slot?.state === 'used' ? slot.at : undefined
  // The names of blocks too deep to be lost are not kept.
  if (at === undefined || (slot?.state === 'used' && slot.settled)) return undefined
  return at.hash === world.chain[nonce]?.block ? undefined : at
}

function preconfirmations(scope: Scope, machine: Machine, world: World, nonce: number, emit: Emit): void {
  for (const { hash } of candidates(world, nonce)) {
    const event: SlotEvent = { type: 'preconfirmed', hash, blockNumber: 1 }
    emit(`${hash} is preconfirmed`, take(scope, machine, world, nonce, event).world)
  }
  const off = take(scope, machine, world, nonce, { type: 'notPreconfirmed', blockNumber: 1 })
  emit(`the preconfirmation of ${nonce} is taken back`, off.world)
}

/**
 * The event that reports the use of a nonce: a body with one of our attempts, or a proof that it is none of
 * them.
 */
function usedIn(world: World, nonce: number, use: Use, hash: Hash | undefined, walked = false): SlotEvent {
  const block = blockRef(use)
  return knows(world, nonce, use.hash)
    ? { type: 'sealed', hash: use.hash, block, walked }
    : { type: 'evidence', hash, block }
}

/**
 * Reports the use of a nonce on the chain, from evidence or the walk. Returns the same world if that is
 * nothing new.
 */
export function evidence(scope: Scope, machine: Machine, world: World, nonce: number, walked = false): World {
  const use = world.chain[nonce]
  if (use === undefined) return world
  return take(scope, machine, world, nonce, usedIn(world, nonce, use, undefined, walked)).world
}

/**
 * Another process acquires the lane. Pending commits succeeded or did not. Any journaled bytes may have been
 * sent by the former owner, an unknown number of times.
 */
function takeovers(scope: Scope, machine: Machine, world: World, emit: Emit): void {
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
    emit(`takeover, ${taken} of the commits took`, next)
  }
}

function inherited(world: World): World {
  const slots = world.slots.map((slot) => {
    if (slot === undefined) return slot
    const attempts = slot.attempts.map((attempt) => ({ ...attempt, epoch: 0, sends: 0 }))
    return 'committing' in slot ? { ...slot, attempts, committing: 0 } : { ...slot, attempts }
  })
  const bytes = Object.fromEntries(
    Object.entries(world.bytes).map(([hash, bits]) => [
      hash,
      bits & (DEAD | UNCOMMITTED) ? bits : LANDABLE | (bits & MISJUDGED),
    ]),
  )
  return { ...world, slots, bytes }
}
