import fc from 'fast-check'
import { HttpRequestError, LimitExceededRpcError, RpcRequestError, TimeoutError } from 'viem'
import { describe, expect, it } from 'vitest'
import { runsOf } from '../../test/support/runsOf.js'
import { classifyReply, classifySendError } from './classify.js'
import type { RpcFailure } from './port.js'

const HASH = `0x${'ab'.repeat(32)}` as const
const OTHER = `0x${'cd'.repeat(32)}` as const
const rpc = (code: number, message: string, data?: unknown): RpcFailure => ({
  kind: 'rpc',
  code,
  message,
  data,
})
const read = (message: string) => classifySendError(rpc(-32000, message))
const reply = (failure: RpcFailure) => classifyReply({ ok: false, failure }, HASH)

describe('the outcome of each row of the table', () => {
  it('hash; already known, already imported: accepted', () => {
    expect(classifyReply({ ok: true, result: HASH }, HASH).outcome).toBe('accepted')
    expect(classifyReply({ ok: true, result: HASH.toUpperCase().replace('0X', '0x') }, HASH).outcome).toBe(
      'accepted',
    )
    const known = [
      'already known',
      'transaction already imported',
      `Known transaction: ${HASH}`,
      'ALREADY_EXISTS: already known',
    ]
    for (const message of known)
      expect(read(message)).toMatchObject({ outcome: 'accepted', reason: 'alreadyKnown' })
  })

  it('time limit, reset, 5xx, broken JSON, any message not in the table: unknown', () => {
    const failures: RpcFailure[] = [
      { kind: 'timeout', message: 'no answer within 10000 ms' },
      { kind: 'network', message: 'socket hang up' },
      { kind: 'malformed', message: 'Unexpected token < in JSON' },
      { kind: 'aborted', message: 'the port was closed' },
      { kind: 'http', status: 502, message: 'Bad Gateway' },
      { kind: 'http', status: 403, message: 'Forbidden' },
      rpc(-32000, 'internal error'),
      rpc(-32603, ''),
    ]
    for (const failure of failures) {
      expect(classifySendError(failure)).toEqual({ outcome: 'unknown', reason: 'unknown', counted: false })
    }
  })

  it('a rule that depends on the bytes alone on every fork is intrinsic: signature, nonce, tip above the cap, empty lists', () => {
    const messages = [
      'invalid transaction v, r, s values',
      'nonce has max value',
      'max priority fee per gas higher than max fee per gas: address 0x33, maxPriorityFeePerGas: 2, maxFeePerGas: 1',
      'maxPriorityFeePerGas (6000000000) is bigger than maxFeePerGas (5000000000)',
      'set code tx must have at least one authorization tuple',
      'blobless blob transaction',
    ]
    for (const message of messages)
      expect(read(message)).toEqual({ outcome: 'intrinsic', reason: 'invalid', counted: false })
  })

  it("a refusal that depends on the fork, the chain or a pool's policy is counted: gas, sizes, a bare invalid sender", () => {
    const messages = [
      ['intrinsic gas too low: gas 20000, minimum needed 21000', 'gasLimit'],
      ['insufficient gas for floor data gas cost: gas 19435, minimum needed 24000', 'gasLimit'],
      ['Transaction requires at least 21000 gas but got 100', 'gasLimit'],
      ['oversized data: transaction size 131189, limit 131072', 'invalid'],
      ['max initcode size exceeded: code size 49153 limit 49152', 'invalid'],
      ['invalid sender', 'invalid'],
      ['max fee per gas higher than 2^64-1', 'invalid'],
    ] as const
    for (const [message, reason] of messages)
      expect(read(message)).toEqual({ outcome: 'refused', reason, counted: true })
  })

  it('wrong chain id: refused, because the node is on another chain than the one that the lane signs for', () => {
    for (const message of ['invalid sender: invalid chain id for signer: have 1 want 8453', 'Wrong chainId'])
      expect(read(message)).toEqual({ outcome: 'refused', reason: 'wrongChain', counted: false })
  })

  it("gas above the block's or the per-transaction limit, node's fee cap, screening: refused, counted", () => {
    const messages = [
      ['exceeds block gas limit', 'gasLimit'],
      ['transaction gas limit too high (cap: 16777216, tx: 17000000)', 'gasLimit'],
      ['tx fee (1.10 ether) exceeds the configured cap (1.00 ether)', 'feeCapExceeded'],
      ['sender 0x8c7e is blocked as appearing on the SDN or other legally prohibited list', 'screened'],
    ] as const
    for (const [message, reason] of messages) {
      expect(read(message)).toEqual({ outcome: 'refused', reason, counted: true })
    }
  })

  it('nonce too low: refused, with the next nonce as a hint, for a resend too', () => {
    const expected = { outcome: 'refused', reason: 'nonceTooLow', counted: false }
    expect(read('nonce too low')).toEqual(expected)
    expect(read('nonce too low: next nonce 7, tx nonce 5')).toEqual({ ...expected, expectedNonce: 7 })
    expect(classifySendError(rpc(-32000, 'nonce too low'), { resend: true })).toEqual(expected)
  })

  it('nonce too high / gap: refused', () => {
    const result = read('nonce too high: address 0x336394A3219e71D9d9bd18201d34E95C1Bb7122C, tx: 9 state: 7')
    expect(result).toEqual({
      outcome: 'refused',
      reason: 'nonceTooHigh',
      counted: false,
      expectedNonce: 7,
    })
    expect(read('NonceGap, Future nonce. Expected nonce: 10')).toMatchObject({
      reason: 'nonceTooHigh',
      expectedNonce: 10,
    })
  })

  it('replacement underpriced: refused', () => {
    expect(read('replacement transaction underpriced')).toMatchObject({
      outcome: 'refused',
      reason: 'replacementUnderpriced',
    })
  })

  it('fee too low (base fee, minimum tip): refused', () => {
    const messages = [
      'max fee per gas less than block base fee: address 0xabc, maxFeePerGas: 1, baseFee: 7',
      'transaction gas price below minimum: gas tip cap 0, minimum needed 1',
      'transaction underpriced',
    ]
    for (const message of messages)
      expect(read(message)).toMatchObject({ outcome: 'refused', reason: 'feeTooLow' })
  })

  it('insufficient funds: refused', () => {
    const message = 'insufficient funds for gas * price + value: balance 1, tx cost 2, overshot 1'
    expect(read(message)).toEqual({ outcome: 'refused', reason: 'insufficientFunds', counted: false })
  })

  it('pool full, account limit, delegated-account limit, address reserved: refused', () => {
    const messages = [
      ['txpool is full', 'poolFull'],
      ['account limit exceeded: pooled 16 txs', 'poolFull'],
      ['address already reserved', 'poolFull'],
      ['in-flight transaction limit reached for delegated accounts', 'delegatedLimit'],
      ['gapped-nonce tx from delegated accounts is temporarily not allowed', 'delegatedLimit'],
    ] as const
    for (const [message, reason] of messages)
      expect(read(message)).toEqual({ outcome: 'refused', reason, counted: false })
  })

  it('429, -32005 or -32016 with a rate-limit message: refused, Retry-After honoured', () => {
    const limited = { outcome: 'refused', reason: 'rateLimited', counted: false }
    const http: RpcFailure = { kind: 'http', status: 429, message: 'Too Many Requests', retryAfterMs: 1_500 }
    expect(classifySendError(http)).toEqual({ ...limited, retryAfterMs: 1_500 })
    expect(classifySendError(rpc(-32016, 'over rate limit'))).toEqual(limited)
    expect(classifySendError(rpc(-32005, 'daily request count exceeded, request rate limited'))).toEqual(
      limited,
    )
    expect(
      classifySendError(rpc(429, 'Your app has exceeded its compute units per second capacity.')),
    ).toEqual(limited)
    expect(classifySendError(rpc(-32005, 'query returned more than 10000 results')).outcome).toBe('unknown')
    expect(classifySendError(rpc(-32000, 'over rate limit')).outcome).toBe('unknown')
  })

  it('sync send: a receipt and code 4 are accepted, 5 unknown, 6 refused with a hint, -32601 unknown', () => {
    expect(classifyReply({ ok: true, result: { transactionHash: HASH, status: '0x1' } }, HASH).outcome).toBe(
      'accepted',
    )
    const timedOut = "The transaction was added to the transaction pool but wasn't processed in 2s"
    const accepted = { outcome: 'accepted', reason: 'syncTimeout', counted: false }
    expect(reply(rpc(4, timedOut, HASH))).toEqual(accepted)
    expect(
      reply(rpc(4, `Transaction ${HASH} was added to the mempool but wasn't confirmed within 6s.`)),
    ).toEqual(accepted)
    expect(reply(rpc(4, 'timed out', HASH))).toEqual(accepted)
    expect(reply(rpc(4, timedOut, OTHER)).outcome).toBe('unknown')
    const notReady = "The transaction was added to the mempool but wasn't processed due to a missing nonce"
    expect(reply(rpc(5, notReady, HASH))).toEqual({ outcome: 'unknown', reason: 'unknown', counted: false })
    for (const data of [7, '7', '0x7', { expectedNonce: '0x7' }]) {
      const gap = { outcome: 'refused', reason: 'nonceTooHigh', counted: false, expectedNonce: 7 }
      expect(reply(rpc(6, 'transaction is not ready', data))).toEqual(gap)
    }
    const missing = rpc(-32601, 'the method eth_sendRawTransactionSync does not exist/is not available')
    expect(reply(missing)).toEqual({ outcome: 'unknown', reason: 'methodMissing', counted: false })
  })
})

describe('a success reply', () => {
  it('is unknown with another hash than the computed one, or without a hash', () => {
    const results = [
      OTHER,
      '0x',
      '',
      null,
      undefined,
      true,
      1,
      {},
      [HASH],
      { transactionHash: OTHER },
      { hash: HASH },
    ]
    for (const result of results) {
      expect(classifyReply({ ok: true, result }, HASH)).toEqual({
        outcome: 'unknown',
        reason: 'unknown',
        counted: false,
      })
    }
  })
})

describe('near misses', () => {
  it('are unknown', () => {
    const messages = [
      'unknown transaction',
      'execution reverted: nonce too low',
      'execution reverted: "already known"',
      "VM Exception while processing transaction: reverted with reason string 'intrinsic gas too low'",
      'Vault: nonce too low',
      'simulation failed: ECDSA: invalid signature',
      'the permit nonce is too low for this order',
      'please check that the nonce is not already known',
      'nonce too lower',
      'already known issue, see the documentation',
      'intrinsic gas too lowered',
      'gas required exceeds allowance (21000)',
      'block already known',
      'transaction not found',
      'Invalid params',
      'limit',
      '',
    ]
    for (const message of messages) {
      expect({ message, ...read(message) }).toMatchObject({ outcome: 'unknown', reason: 'unknown' })
    }
  })

  it("leave a contract's revert unknown if only the data shows it", () => {
    const data = `0x08c379a0${'00'.repeat(96)}`
    expect(classifySendError(rpc(3, 'nonce too low', data)).outcome).toBe('unknown')
    // zkSync Era gives code 3 and the data "0x" to every refusal of its pool.
    const message = 'nonce too low. allowed nonce range: 427 - 447, actual: 426'
    expect(classifySendError(rpc(3, message, '0x'))).toMatchObject({
      reason: 'nonceTooLow',
      expectedNonce: 427,
    })
  })
})

describe('errors of libraries', () => {
  it("reads the node's message below viem's interpretation", () => {
    const error = { code: -32000, message: 'already known' }
    const cause = new RpcRequestError({ body: {}, error, url: 'http://127.0.0.1' })
    const wrapped = {
      name: 'NonceTooLowError',
      message: 'Nonce provided is lower than the current nonce.',
      cause,
    }
    expect(classifySendError(wrapped).reason).toBe('alreadyKnown')
  })

  it('uses the deepest layer, and finds it behind cycles', () => {
    const node = { code: -32000, message: 'already known' }
    expect(classifySendError({ message: 'insufficient funds', error: node }).reason).toBe('alreadyKnown')
    let cause: unknown = node
    for (let depth = 0; depth < 8; depth++) {
      const layer: Record<string, unknown> = { message: 'something failed', cause }
      Object.assign(layer, { error: layer, info: layer, response: layer })
      cause = layer
    }
    expect(classifySendError(cause).reason).toBe('alreadyKnown')
  })

  it("classifies viem's HTTP errors by their status, their body and their Retry-After", () => {
    const http = (status: number, details: string, headers = new Headers()) =>
      new HttpRequestError({ body: {}, details, headers, status, url: 'http://127.0.0.1' })
    const headers = new Headers({ 'Retry-After': '2' })
    const limited = { outcome: 'refused', reason: 'rateLimited', counted: false, retryAfterMs: 2_000 }
    expect(classifySendError(http(429, 'Too Many Requests', headers))).toEqual(limited)
    expect(classifySendError(http(503, 'Service Unavailable')).outcome).toBe('unknown')
    expect(classifySendError(http(500, '{"code":-32000,"message":"intrinsic gas too low"}')).outcome).toBe(
      'unknown',
    )
    expect(classifySendError(http(400, '{"code":-32000,"message":"nonce too low"}')).reason).toBe(
      'nonceTooLow',
    )
    expect(classifySendError(new TimeoutError({ body: {}, url: 'http://127.0.0.1' })).outcome).toBe('unknown')
  })

  it("reads viem's LimitExceededRpcError as a rate limit only with a matching message", () => {
    const limit = (message: string) => {
      const error = { code: -32005, message }
      return new LimitExceededRpcError(new RpcRequestError({ body: {}, error, url: 'http://127.0.0.1' }))
    }
    expect(classifySendError(limit('rate limit exceeded')).reason).toBe('rateLimited')
    expect(classifySendError(limit('Transaction gas limit exceeds block gas limit')).reason).toBe('gasLimit')
    expect(classifySendError(limit('something else')).outcome).toBe('unknown')
  })

  it("uses ethers' codes only if the node's message is missing", () => {
    const code = 'NONCE_EXPIRED'
    const message = 'nonce has already been used'
    expect(classifySendError({ code, message }).reason).toBe('nonceTooLow')
    const error = { code: -32000, message: 'the nonce of your permit is too low' }
    expect(classifySendError({ code, message, info: { error } }).outcome).toBe('unknown')
    expect(classifySendError({ code: 'CALL_EXCEPTION', message: 'nonce too low' }).outcome).toBe('unknown')
  })

  it('treats a rejection of a custom transport as unknown, and gives the reason that its message would mean', () => {
    const failure: RpcFailure = {
      kind: 'custom',
      message: 'rejected',
      cause: new Error('intrinsic gas too low'),
    }
    expect(classifySendError(failure)).toEqual({ outcome: 'unknown', reason: 'gasLimit', counted: false })
  })

  it('counts an intrinsic refusal of a resend, which no longer frees the nonce', () => {
    const result = classifySendError(rpc(-32000, 'nonce has max value'), { resend: true })
    expect(result).toEqual({ outcome: 'intrinsic', reason: 'invalid', counted: true })
  })
})

describe('for any input', () => {
  const throwing = (kind: ProxyHandler<object>) => new Proxy({}, kind)
  const bad = () => {
    throw new Error('no')
  }
  const endless = (): object => new Proxy({}, { get: () => endless() })
  const revoked = () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  }
  const cyclic = () => {
    const error: { message: string; cause?: unknown } = { message: 'x' }
    error.cause = { cause: error, error }
    return error
  }
  const hostile = fc.constantFrom<() => unknown>(
    () => throwing({ get: bad }),
    () => throwing({ get: bad, has: bad, ownKeys: bad, getPrototypeOf: bad, getOwnPropertyDescriptor: bad }),
    endless,
    revoked,
    cyclic,
    () => Object.defineProperty({}, 'message', { get: bad }),
    () => ({ message: { toString: bad } }),
    () => ({ headers: { get: bad }, status: 429 }),
    () => ({ headers: revoked(), status: 429 }),
    () => 'nonce too low: '.repeat(200_000),
    () => ({ message: '{"'.repeat(100_000) }),
    () => ' '.repeat(1_000_000),
    () => '\n'.repeat(1_000_000),
    () => `${'['.repeat(9_000)}{"message":"already known"}`,
    () => Object.create(null),
    () => bad,
    () => Symbol('nonce too low'),
  )
  // Created inside the property, because fast-check itself inspects the values that it draws.
  const plain = fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true })
  const maker = fc.oneof(
    plain.map((value) => () => value),
    hostile,
    fc.tuple(plain, plain, hostile).map(([kind, code, make]) => () => ({
      kind,
      code,
      message: code,
      data: make(),
    })),
    fc.tuple(plain, fc.integer(), hostile).map(([details, status, make]) => () => ({
      details,
      status,
      cause: make(),
    })),
  )
  const outcomes = ['accepted', 'intrinsic', 'refused', 'unknown']

  it('it never throws, and returns an outcome', () => {
    fc.assert(
      fc.property(maker, fc.boolean(), (make, resend) => {
        const error = make()
        const result = classifySendError(error, { resend })
        expect(outcomes).toContain(result.outcome)
        expect(typeof result.counted).toBe('boolean')
        expect(outcomes).toContain(classifyReply({ ok: true, result: error }, HASH).outcome)
      }),
      { numRuns: runsOf(2_000) },
    )
  })

  it('it never frees a nonce for a text that is not in the table', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.lorem({ mode: 'sentences' })), (message) => {
        expect(read(message).outcome).toBe('unknown')
      }),
    )
  })
})
