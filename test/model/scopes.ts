import { ADVERSITIES, type Scope } from './world.js'

const both = ['A', 'B'] as const
const slow = ['sign', 'commit', 'send'] as const

/**
 * A deep reorg and an operator that errs have scopes of their own, because other promises hold after them.
 */
const SHALLOW = ADVERSITIES.filter((kind) => kind !== 'deepReorg' && kind !== 'wrongWord')

/** Each run of the tests searches these to the fixed point. R is available to replace A. */
export const SCOPES = {
  /** Every adversity, at any moment of all slow work; one per history. */
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
  /** Requests of callers against events of the chain. */
  commands: {
    name: 'commands',
    nonces: 3,
    transactions: both,
    lossDepth: 1,
    attemptsMax: 2,
    adversities: { foreign: 1, reorg: 1, cancel: 1, replace: 1 },
    atMost: 3,
  },
  /**
   * Endpoints that err for a while, with wrong counts, bodies and heads, beside foreign transactions and
   * reorgs.
   */
  lies: {
    name: 'lies',
    nonces: 2,
    transactions: both,
    lossDepth: 1,
    attemptsMax: 1,
    adversities: { lie: 2, foreign: 1, reorg: 1, cancel: 1, takeover: 1 },
    atMost: 3,
  },
  /** Blocks are believed only with two children: longer forks, two of them. */
  deeper: {
    name: 'deeper',
    nonces: 3,
    transactions: both,
    lossDepth: 2,
    attemptsMax: 1,
    adversities: { foreign: 1, reorg: 2 },
  },
  /** Nonces that outside code reserved, on a chain that is replaced. */
  handed: {
    name: 'handed',
    nonces: 2,
    transactions: both,
    lossDepth: 1,
    attemptsMax: 1,
    adversities: { foreign: 1, reorg: 1, handOut: 1 },
  },
  /** Nonces that outside code reserved, and nonces whose user cannot be identified, or not yet. */
  outside: {
    name: 'outside',
    nonces: 2,
    transactions: both,
    lossDepth: 1,
    attemptsMax: 1,
    adversities: { foreign: 1, handOut: 1, passed: 1, replace: 1 },
    atMost: 3,
  },
  /** The operator's statements about a transaction that was replaced and cancelled. */
  words: {
    name: 'words',
    nonces: 2,
    transactions: ['A'],
    lossDepth: 1,
    attemptsMax: 1,
    adversities: { foreign: 1, passed: 1, replace: 1, cancel: 1 },
  },
  /** Signing, committing and sending take time, while the chain and the lease owner change. */
  holders: {
    name: 'holders',
    nonces: 2,
    transactions: both,
    lossDepth: 1,
    attemptsMax: 1,
    slow,
    adversities: { foreign: 1, reorg: 1, takeover: 1 },
  },
  /** A slow signer, while its transaction is cancelled or replaced, or its nonce used. */
  tokens: {
    name: 'tokens',
    nonces: 2,
    transactions: both,
    lossDepth: 1,
    attemptsMax: 1,
    slow: ['sign'],
    adversities: { cancel: 1, replace: 1, foreign: 1 },
  },
  /** A signer that fails and a store that loses commits, for a transaction that is cancelled and replaced. */
  signers: {
    name: 'signers',
    nonces: 2,
    transactions: ['A'],
    lossDepth: 1,
    attemptsMax: 1,
    slow,
    adversities: { cancel: 1, replace: 1, takeover: 1, signFails: 1, commitLost: 1 },
  },
  /**
   * Commits that are lost, during a cancel, for a nonce that a foreign transaction uses until its block
   * leaves.
   */
  lost: {
    name: 'lost',
    nonces: 2,
    transactions: ['A'],
    lossDepth: 1,
    attemptsMax: 1,
    slow: ['sign', 'commit'],
    adversities: { cancel: 1, commitLost: 1, foreign: 1, reorg: 1 },
  },
  /** Permanent refusals of bytes that may be known elsewhere already, and the resulting gaps. */
  refusals: {
    name: 'refusals',
    nonces: 3,
    transactions: both,
    lossDepth: 1,
    attemptsMax: 2,
    slow: ['send'],
    adversities: { intrinsic: 2, bump: 1 },
  },
  /** The same for bytes that another process may have sent. */
  inherited: {
    name: 'inherited',
    nonces: 2,
    transactions: ['A'],
    lossDepth: 1,
    attemptsMax: 2,
    slow: ['send'],
    adversities: { intrinsic: 2, bump: 1, takeover: 1, foreign: 1 },
  },
  /**
   * A freed nonce that a foreign transaction uses until its block leaves, with a commit pending meanwhile.
   */
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
   * A reorg deeper than `lossDepth`, which takes verdicts back. Beyond it the promises are: nothing more is
   * reserved, landed transactions are sent again, every other nonce is voided, attempts are kept, and there
   * is an end.
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
  /** Two deep reorgs: a block that was replaced before returns, and leaves again. */
  forks: {
    name: 'forks',
    nonces: 2,
    transactions: ['A'],
    lossDepth: 1,
    attemptsMax: 1,
    adversities: { foreign: 2, deepReorg: 2 },
  },
  /** One nonce with all facts that nodes report: displaced, refused, outbid, preconfirmed. */
  facts: {
    name: 'facts',
    nonces: 1,
    transactions: ['A'],
    lossDepth: 1,
    attemptsMax: 1,
    facts: true,
    adversities: { reorg: 1, cancel: 1, void: 1 },
  },
  /** An operator that errs, after wrong counts and unread bodies, and the later evidence of the chain. */
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
  /** A node that keeps bytes which it refuses permanently: freed nonces are used by the earlier bytes. */
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
  /**
   * Nodes that name the price they accept: above a ceiling, or for a replacement; and callers that then
   * offer it.
   */
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
