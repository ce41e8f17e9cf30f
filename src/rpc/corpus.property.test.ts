import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runsOf } from '../../test/support/runsOf.js'
import { classifySendError } from './classify.js'
import type { Said } from './corpus/corpus.fixture.js'
import { ALL } from './corpus/index.fixture.js'
import { PROVIDERS } from './corpus/providers.fixture.js'

const NODES = ALL.flatMap(({ said, code }) =>
  Object.values(said)
    .flat()
    .map((one): Said => ({ code, ...one })),
)
const KNOWN = [...NODES, ...PROVIDERS.flatMap(({ said }) => said)].filter(
  ({ outcome }) => outcome !== 'unknown',
)

const classify = ({ code, data }: Said, message: string) =>
  classifySendError({ kind: 'rpc', code, message, data })
const meant = ({ outcome, reason, counted }: Said) => ({ outcome, reason, counted })

/** Texts that gateways, clients and libraries put before a node's message. */
const PREFIXES = [
  '',
  'err: ',
  'Error: ',
  'Returned error: ',
  'RPC error: ',
  '[rpc-7] ',
  '-32000 ',
  'call failed: ',
  'rpc error: code = Unknown desc = ',
  'rpc error: code = InvalidArgument desc = ',
  'failed to send transaction: ',
  'eth_sendRawTransaction: ',
  'upstream error - ',
  '"',
]
const SUFFIXES = [
  '',
  '.',
  ' (supplied gas 123)',
  ' 17',
  ', tx 12',
  ': 0x7f657507aee0511e36d2d1972a6b22e917cc89f92b6c12c4dbd57eaabb236960',
  ' for address 0x336394A3219e71D9d9bd18201d34E95C1Bb7122C',
  '\n\nVersion: 2.57.1',
]
const CASES: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => text.toUpperCase(),
  (text) => text.toLowerCase(),
]

describe("a client's message in transit", () => {
  it('keeps its meaning in any case, behind wrappers and before numbers and hashes', () => {
    const parts = [
      fc.constantFrom(...NODES),
      fc.constantFrom(...PREFIXES),
      fc.constantFrom(...SUFFIXES),
      fc.constantFrom(...CASES),
    ] as const
    fc.assert(
      fc.property(...parts, (said, prefix, suffix, inCase) => {
        const message = inCase(`${prefix}${said.message}${suffix}`)
        expect({ message, ...classify(said, message) }).toMatchObject({ message, ...meant(said) })
      }),
      { numRuns: runsOf(2_000) },
    )
  })

  it('keeps its nonce', () => {
    for (const said of NODES) {
      if (said.expectedNonce === undefined) continue
      for (const prefix of PREFIXES)
        expect(classify(said, `${prefix}${said.message}`).expectedNonce).toBe(said.expectedNonce)
    }
  })

  it('has no effect if a contract says it', () => {
    const quotes = [
      (words: string) => `execution reverted: ${words}`,
      (words: string) => `execution reverted: "${words}"`,
      (words: string) => `err: execution reverted: ${words} (supplied gas 123)`,
      (words: string) => `VM Exception while processing transaction: reverted with reason string '${words}'`,
      (words: string) => `Reverted ${words}`,
    ]
    for (const { message } of KNOWN) {
      for (const quote of quotes) {
        const result = classifySendError({ kind: 'rpc', code: -32_000, message: quote(message) })
        expect({ message, ...result }).toMatchObject({ message, outcome: 'unknown', reason: 'unknown' })
      }
    }
  })

  it('has no effect if a contract signs it, or in the middle of a sentence', () => {
    // Solidity code signs its messages with a word and a colon. Messages with colons or lines of their own
    // are split there, like those of any wrapper, so they are left out.
    const plain = NODES.filter(({ message }) => !/: |\] | - |; | = |, |\n/.test(message))
    expect(plain.length).toBeGreaterThan(100)
    const around = [
      (words: string) => `MinimalForwarder: ${words}`,
      (words: string) => `we were told ${words} by it`,
    ]
    for (const { message } of plain) {
      for (const wrap of around) {
        const result = classifySendError({ kind: 'rpc', code: -32_000, message: wrap(message) })
        expect({ message, ...result }).toMatchObject({ message, outcome: 'unknown', reason: 'unknown' })
      }
    }
  })
})

describe('near misses', () => {
  const NEAR = [
    'unknown transaction',
    'unknown transaction: 0x7f657507aee0511e36d2d1972a6b22e917cc89f92b6c12c4dbd57eaabb236960',
    'block already known',
    'transaction not found',
    'transaction is not already known',
    'nonce too lower than expected',
    'a nonce too low was given',
    'the permit nonce is too low for this order',
    'your insufficient funds report is ready',
    'insufficient funds in vault',
    'underpriced option',
    'txpool is fully synced',
    'transaction underpriced by the oracle',
    'gas required exceeds allowance (21000)',
    'out of gas: gas required exceeds: 21000',
    'context deadline exceeded',
    'sequencer internal error',
    'internal error',
    'internal eth error',
    'Invalid',
    'Invalid params',
    'Invalid Request',
    'mined',
    'missing trie node 0xabc',
    'header not found',
    'Requested range exceeds maximum RPC range limit',
    'failed to validate the transaction. reason: Validation revert: Account validation error: Error function_selector = 0x, data = 0x',
    'Transaction simulation failed',
    'Batch transaction sender channel closed',
    'Known transactions are listed below',
    'spammers are welcome',
  ]

  it('are unknown, with any wrapper', () => {
    for (const near of NEAR) {
      for (const prefix of PREFIXES) {
        const message = `${prefix}${near}`
        const result = classifySendError({ kind: 'rpc', code: -32_000, message })
        expect({ message, ...result }).toMatchObject({ message, outcome: 'unknown', reason: 'unknown' })
      }
    }
  })

  it("stay unknown behind a contract's name, with any text between", () => {
    for (const between of ['', 'err: ', 'error - ', 'failed: ']) {
      for (const prefix of PREFIXES) {
        const message = `${prefix}Vault: ${between}nonce too low`
        expect({ message, ...classifySendError(message) }).toMatchObject({ message, outcome: 'unknown' })
      }
    }
  })

  it('stay unknown in any noise of letters, digits and punctuation', () => {
    const noise = fc.stringMatching(/^[a-z0-9 .,;:()[\]{}'"=-]{0,40}$/)
    fc.assert(
      fc.property(fc.constantFrom(...NEAR), noise, noise, (near, before, after) => {
        const result = classifySendError(`${before} ${near}${after}`)
        expect(result.outcome).toBe('unknown')
      }),
      { numRuns: runsOf(2_000) },
    )
  })
})

describe('texts made to be slow to match', () => {
  const LENGTH = 400_000
  const units = [
    ' ',
    '\n',
    ': ',
    '] ',
    ') ',
    ' - ',
    '; ',
    ' = ',
    '(',
    '"',
    '{"',
    '[',
    '-',
    '1 ',
    'a: ',
    'nonce too low, ',
    'code = ',
  ]
  // A backtracking search would take minutes here.
  const TIME_MS_MAX = 1_500

  it('are classified within a bounded time', () => {
    for (const unit of units) {
      const text = unit.repeat(LENGTH / unit.length)
      const before = performance.now()
      for (const error of [
        text,
        { message: text },
        { kind: 'rpc', code: -32_005, message: text },
        { body: text },
      ]) {
        classifySendError(error)
        classifySendError({ details: `${text}nonce too low` })
      }
      expect({ unit, inTime: performance.now() - before < TIME_MS_MAX }).toEqual({ unit, inTime: true })
    }
  })
})
