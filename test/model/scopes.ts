import { ADVERSITIES, type Scope } from './world.js'

const both = ['A', 'B'] as const
const slow = ['sign', 'commit', 'send'] as const

/** A deep reorg and an operator who errs have scopes of their own, since other promises hold after them. */
const SHALLOW = ADVERSITIES.filter((kind) => kind !== 'deepReorg' && kind !== 'wrongWord')

/** Searched to the fixed point by each run of the tests. R stands by to replace A. */
export const SCOPES = {
  /** Every adversity there is, at any moment of everything that takes its time; one in a history. */
  everything: {
    name: 'everything',
    nonces: 3,
    transactions: both,
    lossDepth: 1,
    attemptsMax: 2,
    slow,
    adversities: Object.fromEntries(SHALLOW.map((kind) => [kind, 9])),
    atMost: 1,
  },
  /** What callers ask for, against what the chain does. */
  wishes: {
    name: 'wishes',
    nonces: 3,
    transactions: both,
    lossDepth: 1,
    attemptsMax: 2,
    adversities: { foreign: 1, reorg: 1, cancel: 1, replace: 1 },
    atMost: 3,
  },
  /** Endpoints that err, for a while: counts, bodies and heads that are wrong, beside strangers and reorgs. */
  lies: {
    name: 'lies',
    nonces: 2,
    transactions: both,
    lossDepth: 1,
    attemptsMax: 1,
    adversities: { lie: 2, foreign: 1, reorg: 1, cancel: 1, takeover: 1 },
    atMost: 3,
  },
  /** Blocks believed only with two children: longer forks, two of them. */
  deeper: {
    name: 'deeper',
    nonces: 3,
    transactions: both,
    lossDepth: 2,
    attemptsMax: 1,
    adversities: { foreign: 1, reorg: 2 },
  },
  /** Nonces that others were handed, on a chain that is replaced. */
  handed: {
    name: 'handed',
    nonces: 2,
    transactions: both,
    lossDepth: 1,
    attemptsMax: 1,
    adversities: { foreign: 1, reorg: 1, handOut: 1 },
  },
  /** Nonces that others were handed, and nonces of which nobody can tell, or not yet, who used them. */
  outside: {
    name: 'outside',
    nonces: 2,
    transactions: both,
    lossDepth: 1,
    attemptsMax: 1,
    adversities: { foreign: 1, handOut: 1, passed: 1, replace: 1 },
    atMost: 3,
  },
  /** What the operator says of a transaction that was replaced and cancelled. */
  words: {
    name: 'words',
    nonces: 2,
    transactions: ['A'],
    lossDepth: 1,
    attemptsMax: 1,
    adversities: { foreign: 1, passed: 1, replace: 1, cancel: 1 },
  },
  /** Signing, committing and sending take their time, while the chain and the holder change. */
  holders: {
    name: 'holders',
    nonces: 2,
    transactions: both,
    lossDepth: 1,
    attemptsMax: 1,
    slow,
    adversities: { foreign: 1, reorg: 1, takeover: 1 },
  },
  /** A slow signer, while what it signs for is cancelled, replaced, or its nonce gone. */
  tokens: {
    name: 'tokens',
    nonces: 2,
    transactions: both,
    lossDepth: 1,
    attemptsMax: 1,
    slow: ['sign'],
    adversities: { cancel: 1, replace: 1, foreign: 1 },
  },
  /** A signer that fails and a store that loses commits, under a transaction that is cancelled and replaced. */
  signers: {
    name: 'signers',
    nonces: 2,
    transactions: ['A'],
    lossDepth: 1,
    attemptsMax: 1,
    slow,
    adversities: { cancel: 1, replace: 1, takeover: 1, signFails: 1, commitLost: 1 },
  },
  /** Commits that are lost, under a cancel, of a nonce that something foreign uses until its block leaves. */
  lost: {
    name: 'lost',
    nonces: 2,
    transactions: ['A'],
    lossDepth: 1,
    attemptsMax: 1,
    slow: ['sign', 'commit'],
    adversities: { cancel: 1, commitLost: 1, foreign: 1, reorg: 1 },
  },
  /** Refusals for good, of bytes that may or may not be elsewhere already, and the gaps that they leave. */
  refusals: {
    name: 'refusals',
    nonces: 3,
    transactions: both,
    lossDepth: 1,
    attemptsMax: 2,
    slow: ['send'],
    adversities: { intrinsic: 2, bump: 1 },
  },
  /** The same, of bytes that another process may have sent. */
  inherited: {
    name: 'inherited',
    nonces: 2,
    transactions: ['A'],
    lossDepth: 1,
    attemptsMax: 2,
    slow: ['send'],
    adversities: { intrinsic: 2, bump: 1, takeover: 1, foreign: 1 },
  },
  /** A freed nonce that something foreign uses, until its block leaves; and a commit that is under way meanwhile. */
  freed: {
    name: 'freed',
    nonces: 2,
    transactions: ['A'],
    lossDepth: 1,
    attemptsMax: 2,
    slow: ['commit', 'send'],
    adversities: { intrinsic: 1, foreign: 1, reorg: 1, bump: 1 },
  },
  /**
   * A reorg deeper than `lossDepth`, which takes verdicts back. Promised beyond it: nothing more is reserved, what had
   * landed is sent again, every other nonce is voided, attempts are kept, and there is an end.
   */
  beyond: {
    name: 'beyond',
    nonces: 2,
    transactions: both,
    lossDepth: 1,
    attemptsMax: 1,
    adversities: { foreign: 1, deepReorg: 1, cancel: 1, replace: 1 },
    atMost: 2,
  },
  /** Two of them: a block comes that was replaced before, and goes again. */
  forks: {
    name: 'forks',
    nonces: 2,
    transactions: ['A'],
    lossDepth: 1,
    attemptsMax: 1,
    adversities: { foreign: 2, deepReorg: 2 },
  },
  /** One nonce with all that nodes say of it: displaced, refused, underbid, preconfirmed. */
  facts: {
    name: 'facts',
    nonces: 1,
    transactions: ['A'],
    lossDepth: 1,
    attemptsMax: 1,
    facts: true,
    adversities: { reorg: 1, cancel: 1, void: 1 },
  },
  /** An operator who errs, after counts that are wrong and bodies that nobody reads, and what the chain says then. */
  misled: {
    name: 'misled',
    nonces: 2,
    transactions: both,
    lossDepth: 1,
    attemptsMax: 1,
    slow: ['sign'],
    adversities: { wrongWord: 1, lie: 1, passed: 1, foreign: 1, replace: 1, cancel: 1 },
    atMost: 3,
  },
  /** A node that keeps what it refuses for good: freed nonces are used by what was there before. */
  kept: {
    name: 'kept',
    nonces: 2,
    transactions: both,
    lossDepth: 1,
    attemptsMax: 1,
    slow: ['sign', 'send'],
    adversities: { lie: 1, foreign: 1, reorg: 1 },
    atMost: 2,
  },
  /** Nodes that name the price they take: above a ceiling, or of a replacement; and callers who then offer it. */
  prices: {
    name: 'prices',
    nonces: 1,
    transactions: ['A'],
    lossDepth: 1,
    attemptsMax: 2,
    facts: true,
    adversities: { bump: 1, void: 1 },
  },
} satisfies Record<string, Scope>

/** For a long run: `npm run model -- --scope NAME`. */
export const LONG_SCOPES = {
  /** A hundred times the states of `everything`. */
  twice: { ...SCOPES.everything, name: 'twice', atMost: 2 },
} satisfies Record<string, Scope>
