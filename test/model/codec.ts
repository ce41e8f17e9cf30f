import type { Hash } from 'viem'
import type { Attempt, Slot } from '../../src/ledger/slot.js'
import { sameNamed } from './symmetry.js'
import { ADVERSITIES, type Left, nonceOf, type Scope, type Signing, type Use, type World } from './world.js'

/**
 * Packs states into a few words: each part of a state is spelt, and equal spellings share one number. Parts
 * that can no longer make a difference are left out: the history of a settled nonce, the exact bytes of uses
 * too deep to be lost, and the distances of tokens, which are only compared for equality.
 */
export type Codec = {
  readonly width: number
  pack(world: World, into: Uint32Array): void
  unpack(words: Uint32Array): World
}

type Lane = Pick<World, 'queue' | 'fates' | 'cancelled' | 'replaced' | 'held' | 'doubtful'>
type Shell = Pick<World, 'signing' | 'commits' | 'outbox'>
type Chain = Pick<World, 'chain' | 'stale'>

export function createCodec(scope: Scope): Codec {
  const { nonces } = scope
  const slots = Array.from({ length: nonces }, () => createParts<Slot | undefined>())
  const lanes = createParts<Lane>()
  const shells = createParts<Shell>()
  const bytes = createParts<World['bytes']>()
  const chains = createParts<Chain>()
  const lefts = createParts<Left>()
  // The last unpacked state. The next packed states share most of its parts, which then need no spelling.
  let near: World | undefined
  const nearWords = new Uint32Array(nonces + 5)
  let nearDeep = 0

  function slotNumber(nonce: number, slot: Slot | undefined): number {
    if (near !== undefined && near.slots[nonce] === slot) return nearWords[nonce] ?? 0
    return slots[nonce]?.number(slotKey(scope, slot), () => plainSlot(scope, slot)) ?? 0
  }

  function laneNumber(world: World): number {
    if (near !== undefined && sameLane(near, world)) return nearWords[nonces] ?? 0
    const { queue, fates, cancelled, replaced, held, doubtful } = world
    return lanes.number(laneKey(world), () => ({ queue, fates, cancelled, replaced, held, doubtful }))
  }

  function shellNumber(world: World): number {
    const { commits } = world
    const quiet = world.signing.length + commits.length + world.outbox.length === 0
    if (quiet) return shells.number('', () => ({ signing: [], commits: [], outbox: [] }))
    const signing = world.signing.length === 0 ? world.signing : plainSigning(world)
    const outbox = world.outbox.filter((hash) => world.slots[nonceOf(hash)]?.state === 'live')
    return shells.number(shellKey(signing, commits, outbox), () => ({ signing, commits, outbox }))
  }

  function bytesNumber(world: World, deep: number): number {
    if (near !== undefined && near.bytes === world.bytes && deep === nearDeep)
      return nearWords[nonces + 2] ?? 0
    const kept = deep === 0 ? world.bytes : bytesWithout(world.bytes, deep)
    return bytes.number(bytesKey(kept), () => kept)
  }

  function chainNumber(world: World, deep: number): number {
    const same = near !== undefined && near.chain === world.chain && near.stale === world.stale
    if (same && deep === nearDeep) return nearWords[nonces + 3] ?? 0
    // Orphaned forks are no longer read.
    const stale = world.left.staleFork > 0 ? world.stale : []
    const chain = deep === 0 ? world.chain : shortened(world.chain, deep)
    return chains.number(chainKey(chain, stale), () => ({ chain, stale }))
  }

  function leftNumber(world: World): number {
    const left = wantedLeft(world)
    if (near !== undefined && near.left === left) return nearWords[nonces + 4] ?? 0
    return lefts.number(leftKey(left), () => left)
  }

  return {
    width: nonces + 5,
    pack(given, into) {
      const world = sameNamed(given)
      const deep = deepNonces(scope, world)
      for (let nonce = 0; nonce < nonces; nonce++) into[nonce] = slotNumber(nonce, world.slots[nonce])
      into[nonces] = laneNumber(world)
      into[nonces + 1] = shellNumber(world)
      into[nonces + 2] = bytesNumber(world, deep)
      into[nonces + 3] = chainNumber(world, deep)
      into[nonces + 4] = leftNumber(world)
    },
    unpack(words) {
      nearWords.set(words)
      near = {
        slots: slots.map((known, nonce) => known.part(words[nonce])),
        ...lanes.part(words[nonces]),
        ...shells.part(words[nonces + 1]),
        bytes: bytes.part(words[nonces + 2]),
        ...chains.part(words[nonces + 3]),
        left: lefts.part(words[nonces + 4]),
      }
      nearDeep = deepNonces(scope, near)
      return near
    },
  }
}

/** Numbers for the parts of one kind, by their spelling. */
type Parts<T> = { number(key: string, part: () => T): number; part(number: number | undefined): T }

function createParts<T>(): Parts<T> {
  const numbers = new Map<string, number>()
  const parts: T[] = []
  return {
    number(key, part) {
      const known = numbers.get(key)
      if (known !== undefined) return known
      numbers.set(key, parts.length)
      parts.push(part())
      return parts.length - 1
    },
    part: (number) => parts[number ?? 0] as T,
  }
}

const sameLane = (a: World, b: World): boolean =>
  a.queue === b.queue &&
  a.fates === b.fates &&
  a.cancelled === b.cancelled &&
  a.replaced === b.replaced &&
  a.held === b.held &&
  a.doubtful === b.doubtful

const laneKey = (world: World): string =>
  `${world.queue.join('')}|${Object.values(world.fates)
    .map((fate) => FATES[fate] ?? fate)
    .join(
      '',
    )}|${world.cancelled.join('')}${world.replaced ? '!' : ''}${world.held ? 'h' : ''}|${world.doubtful.join('')}`

const FATES: Readonly<Record<string, string>> = {
  open: '-',
  none: '0',
  landed: 'L',
  rejected: 'r',
  voided: 'v',
  withdrawn: 'w',
  cancelled: 'c',
  superseded: 's',
  tooLate: 't',
  displaced: 'd',
}

const shellKey = (signing: World['signing'], commits: World['commits'], outbox: World['outbox']): string => {
  const tasks = signing.map((task) => `${task.nonce}${task.claim ?? 'N'}${task.token}`).sort()
  return `${tasks.join()}|${commits
    .map((commit) => commit.attempt.hash)
    .sort()
    .join()}|${outbox.join()}`
}

const bytesKey = (bytes: World['bytes']): string => {
  const spelt: string[] = []
  for (const hash in bytes) spelt.push(`${hash}${bytes[hash as Hash]}`)
  return spelt.sort().join()
}

const chainKey = (chain: World['chain'], stale: World['stale']): string =>
  `${chain.map((use) => `${use.block}:${use.depth}`).join()}|${stale
    .map((use) => use.block)
    .sort()
    .join()}`

const leftKey = (left: Left): string => `${ADVERSITIES.map((kind) => left[kind]).join('')}${left.any}`

/** A transaction that has ended can be neither cancelled nor replaced. */
function wantedLeft(world: World): Left {
  const { left, fates } = world
  if (left.cancel + left.replace === 0 || fates.A === 'open' || fates.R === 'open') return left
  const known = withoutCommands.get(left) ?? { ...left, cancel: 0, replace: 0 }
  withoutCommands.set(left, known)
  return known
}

const withoutCommands = new WeakMap<Left, Left>()

/** The present token of a slot is 1, every other token 0. Of equal stale tasks one is kept. */
function plainSigning(world: World): World['signing'] {
  const tasks: Signing[] = []
  for (const task of world.signing) {
    const slot = world.slots[task.nonce]
    if (isClosed(slot)) continue
    const token = tokenOf(slot) === task.token ? 1 : 0
    const twin = tasks.some((t) => t.nonce === task.nonce && t.claim === task.claim && t.token === token)
    if (!twin) tasks.push({ ...task, token })
  }
  return tasks
}

/** The settled nonces whose use is too deep to be lost, as one bit each. */
function deepNonces(scope: Scope, world: World): number {
  if (keepsHistory(scope)) return 0
  let deep = 0
  for (const [nonce, use] of world.chain.entries()) {
    if (use.depth >= scope.lossDepth && isClosed(world.slots[nonce])) deep |= 1 << nonce
  }
  return deep
}

const bytesWithout = (bytes: World['bytes'], deep: number): World['bytes'] => {
  const kept: Record<Hash, number> = {}
  for (const hash of Object.keys(bytes) as Hash[]) {
    if ((deep & (1 << nonceOf(hash))) === 0) kept[hash] = bytes[hash] ?? 0
  }
  return kept
}

/** Of a deep use only the executed claim matters. */
const shortened = (chain: World['chain'], deep: number): readonly Use[] =>
  chain.map((use, nonce) => (deep & (1 << nonce) ? { ...use, block: `0x${use.hash.slice(2, 4)}` } : use))

/**
 * True if a verdict may be corrected: after a reorg that takes it back, or after a wrong statement of the
 * operator.
 */
const keepsHistory = ({ adversities }: Scope): boolean =>
  adversities.deepReorg !== undefined || adversities.wrongWord !== undefined

const isClosed = (slot: Slot | undefined): boolean =>
  slot !== undefined && (slot.state === 'final' || (slot.state === 'used' && slot.settled))

const tokenOf = (slot: Slot | undefined): number | undefined =>
  slot?.state === 'reserved' || slot?.state === 'live' ? slot.token : undefined

function attemptsKey(attempts: readonly Attempt[]): string {
  let spelt = ''
  for (const { hash, sends, epoch, accepted } of plainAttempts(attempts))
    spelt += `${hash}${sends}${epoch}${accepted ? 'y' : ''}`
  return spelt
}

/** Expects a slot as `plainSlot` makes it. */
function slotKey(scope: Scope, slot: Slot | undefined): string {
  if (slot === undefined) return ''
  const attempts = attemptsKey(slot.attempts)
  switch (slot.state) {
    case 'hole':
      return attempts === '' ? '' : `h${attempts}`
    case 'outside':
      return `o${slot.origin[0]}${attempts}`
    case 'reserved':
      return `r${slot.claim}${slot.committing}${attempts}`
    case 'live': {
      const facts = scope.facts
        ? `${slot.displaced ? 'd' : ''}${Math.min(3, slot.refusals)}${Math.min(3, slot.replacementRejections)}${slot.resentSinceSigned ? 'n' : ''}`
        : ''
      const seen = `${slot.settledBefore ? 'w' : ''}${slot.preconfirmed?.hash ?? ''}`
      return `l${slot.claims.join('')}${slot.end?.[0] ?? ''}${slot.committing}${seen}${facts}${attempts}`
    }
    case 'used': {
      if (slot.settled && !keepsHistory(scope)) return 'S'
      const by = slot.by.kind === 'claim' ? slot.by.claim : slot.by.kind[0]
      const known = slot.by.kind === 'other' && slot.by.hash === undefined ? '?' : ''
      const flags = `${slot.settledBefore ? 'w' : ''}${slot.settled ? 'S' : ''}`
      return `u${slot.claims.join('')}${slot.end?.[0] ?? ''}${slot.committing}${flags}${by}${known}${slot.at?.hash ?? ''}${attempts}`
    }
    case 'final':
      return keepsHistory(scope) ? 'F' : 'S'
  }
}

/**
 * Facts that only choose between resending, bumping and giving up are replaced by their worst values, unless
 * the scope needs them. That allows more steps, not fewer.
 */
function plainSlot(scope: Scope, slot: Slot | undefined): Slot | undefined {
  if (slot === undefined || (slot.state === 'hole' && slot.attempts.length === 0)) return undefined
  const { nonce } = slot
  if (isClosed(slot) && !keepsHistory(scope)) return { ...CLOSED, nonce }
  const attempts = plainAttempts(slot.attempts)
  if (slot.state === 'reserved') return { ...slot, attempts, token: 1 }
  if (slot.state !== 'live') return { ...slot, attempts }
  const facts = {
    refusals: Math.min(3, slot.refusals),
    replacementRejections: Math.min(3, slot.replacementRejections),
  }
  if (scope.facts) return { ...slot, ...facts, attempts, token: 1 }
  return {
    ...slot,
    attempts,
    token: 1,
    refusals: 0,
    replacementRejections: 0,
    displaced: false,
    resentSinceSigned: true,
  }
}

/**
 * Of several attempts only two facts matter: whether any was accepted, and how often the newest was sent. An
 * older attempt becomes the newest only after a deep reorg, and then counts as sent often.
 */
function plainAttempts(attempts: readonly Attempt[]): readonly Attempt[] {
  const accepted = attempts.some((attempt) => attempt.accepted)
  const last = attempts.length - 1
  return attempts.map((attempt, index) => {
    const sends = index < last ? 2 : Math.min(2, attempt.sends)
    return { ...attempt, accepted, sends }
  })
}

/** Settled: no other property matters, and `final` is equivalent. */
const CLOSED: Slot = {
  state: 'used',
  nonce: 0,
  attempts: [],
  claims: [],
  end: undefined,
  by: { kind: 'other', hash: undefined },
  at: undefined,
  settledBefore: false,
  settled: true,
  committing: 0,
}
