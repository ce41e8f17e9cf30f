import fc from 'fast-check'
import { RpcRequestError, TransactionExecutionError } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { getNodeError } from 'viem/utils'
import { describe, expect, it } from 'vitest'
import { runsOf } from '../../test/support/runsOf.js'
import { classifySendError } from './classify.js'
import { MESSAGES } from './messages.js'

const ROWS = MESSAGES.flatMap((group) => group.rows.map((says) => ({ ...group, says })))

/** A message as a node would fill in the row. */
const filled = (says: string) => says.replaceAll('…', '0x8c7e4b21')
const raw = (message: string) => ({ code: -32000, message })

const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)

/** The same chain of errors that viem's `sendRawTransaction` and `sendTransaction` throw. */
function viemError(message: string): Error {
  const request = new RpcRequestError({
    body: { method: 'x' },
    error: raw(message),
    url: 'http://127.0.0.1/key',
  })
  const cause = getNodeError(request, {})
  return new TransactionExecutionError(cause, { account })
}

/** As viem's error, but of another copy of the package, so that `instanceof` fails. */
function foreignViemError(message: string): object {
  const inner = {
    name: 'RpcRequestError',
    code: -32000,
    details: message,
    shortMessage: 'RPC Request failed.',
  }
  const middle = {
    name: 'UnknownNodeError',
    details: message,
    message: `An error occurred.\n\nDetails: ${message}`,
  }
  return { name: 'TransactionExecutionError', details: message, cause: { ...middle, cause: inner } }
}

/** The shape of an ethers 6 error, with the generic code that ethers gives to every such error. */
function ethersError(message: string): Error {
  const error = raw(message)
  const text = `could not coalesce error (error=${JSON.stringify(error)}, code=UNKNOWN_ERROR, version=6.13.0)`
  return Object.assign(new Error(text), {
    code: 'UNKNOWN_ERROR',
    error,
    payload: { method: 'eth_sendRawTransaction' },
  })
}

const SHAPES: Record<string, (message: string) => unknown> = {
  'a string': (message) => message,
  'a JSON-RPC error object': raw,
  'a whole JSON-RPC reply': (message) => ({ jsonrpc: '2.0', id: 1, error: raw(message) }),
  "a port's failure": (message) => ({ kind: 'rpc', ...raw(message) }),
  "a port's HTTP 400 with a JSON-RPC error": (message) => ({
    kind: 'http',
    status: 400,
    message: 'HTTP 400',
    rpc: raw(message),
  }),
  "viem's nested errors": viemError,
  'viem errors of another install': foreignViemError,
  'an ethers 6 error': ethersError,
  'an ethers 5 error with a body': (message) => ({
    reason: 'processing response error',
    code: 'SERVER_ERROR',
    error: { reason: 'bad response', body: JSON.stringify({ jsonrpc: '2.0', id: 1, error: raw(message) }) },
  }),
  "a wallet's error": (message) => ({
    code: -32603,
    message: 'Internal JSON-RPC error.',
    data: { originalError: raw(message) },
  }),
  'a text with JSON in it': (message) =>
    new Error(`HTTP error with body: ${JSON.stringify({ error: raw(message) })}`),
}

describe('the table of messages', () => {
  it('has no duplicate row, and is in lower case', () => {
    const said = ROWS.map(({ says }) => says)
    expect(new Set(said).size).toBe(said.length)
    for (const says of said) expect(says).toBe(says.toLowerCase().trim())
  })

  it('marks only refusals as counted', () => {
    expect(MESSAGES.filter((group) => group.counted && group.outcome !== 'refused')).toEqual([])
  })

  for (const [shape, wrap] of Object.entries(SHAPES)) {
    it(`gives each row its outcome in ${shape}`, () => {
      for (const { says, outcome, reason, counted = false } of ROWS) {
        const result = classifySendError(wrap(filled(says)))
        expect({ says, ...result }).toMatchObject({ says, outcome, reason, counted })
      }
    })
  }

  it('gives each row its outcome in any case, after any wrapper and before numbers and addresses', () => {
    const prefixes = [
      '',
      'err: ',
      'RPC error: ',
      'Returned error: ',
      '[rpc-7] ',
      '-32000 ',
      'INTERNAL_ERROR: ',
      '"',
    ]
    const inner = ['', 'call failed: ', 'failed to send transaction: ', 'rpc error: code = Unknown desc = ']
    const tails = [
      '',
      '.',
      ': address 0x336394A3219e71D9d9bd18201d34E95C1Bb7122C',
      ' (8089)',
      ', tx 12',
      ' 17',
      '\n\nVersion: x',
    ]
    const arbitraries = [
      fc.constantFrom(...ROWS),
      fc.constantFrom(...prefixes),
      fc.constantFrom(...inner),
      fc.constantFrom(...tails),
      fc.boolean(),
    ] as const
    fc.assert(
      fc.property(...arbitraries, (row, prefix, wrapper, tail, upper) => {
        const message = `${prefix}${wrapper}${filled(row.says)}${tail}`
        const result = classifySendError(upper ? message.toUpperCase() : message)
        expect(result).toMatchObject({ outcome: row.outcome, reason: row.reason })
      }),
      { numRuns: runsOf(1_000) },
    )
  })

  it('matches no row in the middle of a sentence', () => {
    for (const { says } of ROWS) {
      const result = classifySendError(`the caller was told ${filled(says)} by somebody`)
      expect({ says, ...result }).toMatchObject({ outcome: 'unknown', reason: 'unknown' })
    }
  })

  it("matches no row in a contract's message", () => {
    const quotes = [
      (words: string) => `execution reverted: ${words}`,
      (words: string) => `VM Exception while processing transaction: reverted with reason string '${words}'`,
      (words: string) => `${words}: execution reverted`,
      (words: string) => `MinimalForwarder: ${words}`,
    ]
    for (const { says } of ROWS) {
      for (const quote of quotes) {
        const result = classifySendError(raw(quote(filled(says))))
        expect({ says, ...result }).toMatchObject({ outcome: 'unknown', reason: 'unknown' })
      }
    }
  })

  it('finds no intrinsic refusal behind unknown wrapper words', () => {
    const unsure = ['while trying the bundle out: ', 'simulation failed: ', 'contract call failed: ']
    for (const { says, outcome } of ROWS) {
      if (outcome !== 'intrinsic') continue
      for (const before of unsure) expect(classifySendError(before + filled(says)).outcome).toBe('unknown')
    }
  })
})
