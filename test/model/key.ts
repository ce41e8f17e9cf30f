import type { Hash } from 'viem'
import type { Attempt, Slot } from '../../src/ledger/slot.js'
import { ADVERSITIES, nonceOf, type Scope, type Use, type World } from './world.js'

/**
 * What tells two states apart. What can make no difference any more is left out: the history of a settled nonce, the
 * exact bytes of what is too deep to be lost.
 */
function keyOf(world: World, slotKeyOf: (slot: Slot | undefined) => string): string {
  const slots = world.slots.map(slotKeyOf).join('/')
  const lane = `${namesKey(world.queue)}|${fatesKey(world.fates)}|${namesKey(world.cancelled)}${world.replaced ? '!' : ''}`
  const shell = `${signingKey(world.signing)}|${commitsKey(world.commits)}|${namesKey(world.outbox)}`
  return `${slots}|${lane}|${shell}|${bytesKey(world.bytes)}|${chainKey(world.chain)}|${leftKey(world.left)}`
}

/** States share most of their parts: each part is spelt once. */
function once<T extends object>(spell: (part: T) => string): (part: T) => string {
  const spelt = new WeakMap<T, string>()
  return (part) => {
    const known = spelt.get(part)
    if (known !== undefined) return known
    const key = spell(part)
    spelt.set(part, key)
    return key
  }
}

const namesKey = (names: readonly string[]): string => (names.length === 0 ? '' : names.join(''))
const fatesKey = once((fates: World['fates']) =>
  Object.values(fates)
    .map((fate) => FATES[fate] ?? fate)
    .join(''),
)
const leftKey = once((left: World['left']) => ADVERSITIES.map((kind) => left[kind]).join(''))
const chainKey = once((chain: World['chain']) =>
  chain.map((use) => `${use.block.slice(2)}${use.depth}`).join(),
)
const commitsKey = (commits: World['commits']): string =>
  commits.length === 0
    ? ''
    : commits
        .map((commit) => commit.attempt.hash)
        .sort()
        .join()
const signingKey = (signing: World['signing']): string =>
  signing.length === 0
    ? ''
    : signing
        .map((task) => `${task.nonce}${task.claim ?? 'N'}${task.token}`)
        .sort()
        .join()
const bytesKey = once((bytes: World['bytes']) =>
  Object.entries(bytes)
    .map(([hash, bits]) => `${hash.slice(2)}${bits}`)
    .sort()
    .join(),
)

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
}

const attemptsKey = (attempts: readonly Attempt[]): string =>
  attempts.map((a) => `${a.hash.slice(2)}${a.sends}${a.epoch}${a.accepted ? 'y' : ''}`).join('.')

function slotKey(slot: Slot | undefined): string {
  if (slot === undefined) return ''
  const attempts = attemptsKey(slot.attempts)
  switch (slot.state) {
    case 'hole':
      return `h${attempts}`
    case 'outside':
      return `o${slot.origin[0]}${attempts}`
    case 'reserved':
      return `r${slot.claim}${slot.committing}${attempts}`
    case 'live': {
      const facts = `${slot.wasSealed ? 'w' : ''}${slot.preconfirmedIn ?? ''}${slot.displaced ? 'd' : ''}${slot.refusals}${slot.underbids}`
      return `l${slot.claims.join('')}${slot.end?.[0] ?? ''}${slot.committing}${facts}${slot.nudged ? 'n' : ''}${attempts}`
    }
    case 'used': {
      if (slot.settled) return 'S'
      const by = slot.by.kind === 'claim' ? slot.by.claim : slot.by.kind[0]
      return `u${slot.claims.join('')}${slot.end?.[0] ?? ''}${slot.committing}${slot.wasSealed ? 'w' : ''}${by}${slot.at?.hash ?? ''}${attempts}`
    }
    case 'final':
      return 'S'
  }
}

/** Brings states of one scope into the form in which they are compared. */
export type Normalizer = {
  normal(world: World): World
  /** Of a world that is in its normal form. */
  keyOf(world: World): string
}

/**
 * Tokens are only ever compared for being equal, so the present one of a slot is 1 and every other one 0. Facts that
 * only choose between resending, bumping and giving up are taken as bad as they can be, which allows more steps, not
 * fewer. Equal slots are made one object, so that each is looked at once.
 */
export function createNormalizer(scope: Scope): Normalizer {
  const interned = new Map<string, Slot>()
  const forms = new WeakMap<Slot, Slot | typeof NONE>()
  const keys = new WeakMap<Slot, string>()

  function normalSlot(slot: Slot | undefined): Slot | undefined {
    if (slot === undefined) return undefined
    const known = forms.get(slot)
    if (known !== undefined) return known === NONE ? undefined : known
    const plain = plainSlot(scope, slot)
    const key = slotKey(plain)
    const form = plain === undefined ? NONE : (interned.get(key) ?? plain)
    forms.set(slot, form)
    if (form === NONE) return undefined
    interned.set(key, form)
    forms.set(form, form)
    keys.set(form, key)
    return form
  }

  return {
    normal(world) {
      const slots = world.slots.map(normalSlot)
      const signing = world.signing.length === 0 ? world.signing : tokensOf(world)
      const outbox =
        world.outbox.length === 0
          ? world.outbox
          : world.outbox.filter((hash) => world.slots[nonceOf(hash)]?.state === 'live')
      const next = { ...world, slots, signing, outbox, left: wantedLeft(world) }
      return slots.some(isClosed) ? withoutDeep(scope, next) : next
    },
    keyOf: (world) => keyOf(world, (slot) => (slot === undefined ? '' : (keys.get(slot) ?? slotKey(slot)))),
  }
}

const NONE = Symbol('new')

/** Nobody cancels or replaces what has ended. */
function wantedLeft(world: World): World['left'] {
  const { left, fates } = world
  const open = fates.A === 'open' || fates.R === 'open'
  if (open || left.cancel + left.replace === 0) return left
  const key = leftKey(left)
  const known = spentWishes.get(key) ?? { ...left, cancel: 0, replace: 0 }
  spentWishes.set(key, known)
  return known
}

const spentWishes = new Map<string, World['left']>()

function tokensOf(world: World): World['signing'] {
  return world.signing
    .filter((task) => !isClosed(world.slots[task.nonce]))
    .map((task) => ({ ...task, token: tokenOf(world.slots[task.nonce]) === task.token ? 1 : 0 }))
}

/** Leaves out what is too deep to matter: bytes that cannot land any more, and the names of their blocks. */
function withoutDeep(scope: Scope, world: World): World {
  const deep = world.slots.map(
    (slot, nonce) => isClosed(slot) && (world.chain[nonce]?.depth ?? -1) >= scope.lossDepth,
  )
  const hashes = Object.keys(world.bytes) as Hash[]
  const kept = hashes.filter((hash) => !deep[nonceOf(hash)])
  const bytes =
    kept.length === hashes.length
      ? world.bytes
      : Object.fromEntries(kept.map((hash) => [hash, world.bytes[hash] ?? 0]))
  const long = world.chain.some((use, nonce) => deep[nonce] && use.block.length > DEEP_LENGTH)
  const chain = long ? world.chain.map((use, nonce) => (deep[nonce] ? shortened(use) : use)) : world.chain
  return { ...world, bytes, chain }
}

/** `0x`, whose, and the nonce. */
const DEEP_LENGTH = 4

const shortened = (use: Use): Use =>
  use.block.length === 4 ? use : { ...use, block: `0x${use.hash.slice(2, 4)}` }

const isClosed = (slot: Slot | undefined): boolean =>
  slot?.state === 'final' || (slot?.state === 'used' && slot.settled)

function tokenOf(slot: Slot | undefined): number | undefined {
  return slot?.state === 'reserved' || slot?.state === 'live' ? slot.token : undefined
}

function plainSlot(scope: Scope, slot: Slot): Slot | undefined {
  if (slot.state === 'hole' && slot.attempts.length === 0) return undefined
  const attempts = slot.attempts.some((attempt) => attempt.sends > 2)
    ? slot.attempts.map((attempt) => ({ ...attempt, sends: Math.min(2, attempt.sends) }))
    : slot.attempts
  if (slot.state === 'reserved') return { ...slot, attempts, token: 1 }
  if (slot.state !== 'live') return { ...slot, attempts }
  const facts = { refusals: Math.min(3, slot.refusals), underbids: Math.min(3, slot.underbids) }
  if (scope.facts) return { ...slot, ...facts, attempts, token: 1 }
  return { ...slot, attempts, token: 1, refusals: 0, underbids: 0, displaced: false, nudged: true }
}
