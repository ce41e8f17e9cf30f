import { describe, expect, test } from 'vitest'
import { classifySendError } from './classify.js'

describe('a word of a wrapper before a message', () => {
  const FRAMES =
    'err error errors rpc jsonrpc json-rpc failed rejected invalid sender details pool txpool mempool sequencer ' +
    'code message msg desc server client backend gateway proxy response request internal call transaction tx cause ' +
    'node upstream provider'
  const METHODS = 'eth_sendRawTransaction eth_sendRawTransactionSync'
  const RESULTS = 'INTERNAL_ERROR ALREADY_EXISTS FEE_TOO_LOW STALE SUCCESS'
  const CLIENTS = 'geth op-geth reth op-reth base erigon besu nethermind anvil hardhat nitro'
  const PROVIDERS =
    'alchemy infura quicknode ankr drpc chainstack tenderly blockdaemon blast web3 rpc-7 eu-ankr-2'

  test.each([
    ['the frames of an error', FRAMES],
    ['the methods of a send', METHODS],
    ["Erigon's results", RESULTS],
    ['the clients', CLIENTS],
    ['the providers', PROVIDERS],
  ])('leaves the message its meaning: each of %s', (_, names) => {
    for (const name of names.split(' ')) {
      expect({ name, ...classifySendError(`${name}: nonce too low`) }).toEqual({
        name,
        outcome: 'refused',
        reason: 'nonceTooLow',
        counted: false,
      })
      expect({ name, ...classifySendError(`${name}: nonce has max value`) }).toEqual({
        name,
        outcome: 'intrinsic',
        reason: 'invalid',
        counted: false,
      })
    }
  })

  test.each([
    'pre-execution failed',
    'eth_estimateGas failed',
    'eth_simulateV1 error',
    'rpc error of the gas-estimation',
    'eth_sendUserOperation error',
    'subcontract call failed',
    'EVM error',
  ])('proves no intrinsic refusal where the node may have run a contract: "%s"', (before) => {
    expect(classifySendError(`${before}: nonce has max value`).outcome).toBe('unknown')
  })

  test('proves an intrinsic refusal behind the name of a chain that ends in EVM', () => {
    expect(classifySendError('zkEVM node error: nonce has max value').outcome).toBe('intrinsic')
  })
})

describe('the numbers of a message about a nonce', () => {
  const GANACHE = "the tx doesn't have the correct nonce. account has nonce of: "
  const REPLIES: readonly (readonly [
    message: string,
    reason: string,
    expectedNonce: number,
    nonceMax?: number,
  ])[] = [
    ['nonce too low: next nonce 1234, tx nonce 1233', 'nonceTooLow', 1_234],
    ['nonce too high: tx nonce 1240, gapped nonce 1234', 'nonceTooHigh', 1_234],
    ['nonce too high: address 0x33, tx: 1240 state: 1234', 'nonceTooHigh', 1_234],
    ['nonce too low: address 0x33 current nonce (1234) > tx nonce (1233)', 'nonceTooLow', 1_234],
    ['Nonce too low. Provided nonce: 1233, current nonce: 1234', 'nonceTooLow', 1_234],
    ['NonceGap, Future nonce. Expected nonce: 1234', 'nonceTooHigh', 1_234],
    ['Transaction nonce too low. Expected nonce to be at least 1234 but got 1233.', 'nonceTooLow', 1_234],
    ['nonce too high. allowed nonce range: 427 - 447, actual: 999', 'nonceTooHigh', 427, 447],
    ['nonce too low: expected 1234', 'nonceTooLow', 1_234],
    ['0x33 tries to send a tx with nonce 1233, but account has nonce 1234', 'nonceTooLow', 1_234],
    [`${GANACHE}1234 tx has nonce of: 99`, 'nonceTooLow', 1_234],
    [`${GANACHE}12 tx has nonce of: 100`, 'nonceTooHigh', 12],
    ['invalid nonce; got 99, expected 1234: invalid sequence', 'nonceTooLow', 1_234],
    ['invalid nonce; got 5, expected 12: invalid sequence', 'nonceTooLow', 12],
    ['invalid nonce; got 100, expected 12: invalid sequence', 'nonceTooHigh', 12],
  ]

  test.each(REPLIES)('count with all their digits: "%s"', (message, reason, expectedNonce, nonceMax) => {
    expect(classifySendError(message)).toStrictEqual({
      outcome: 'refused',
      reason,
      counted: false,
      expectedNonce,
      ...(nonceMax === undefined ? {} : { nonceMax }),
    })
  })

  test("say that a nonce which equals the account's is not above it", () => {
    expect(classifySendError(`${GANACHE}7 tx has nonce of: 7`).reason).toBe('nonceTooLow')
  })

  test('change the reason of no message that is about something else', () => {
    expect(classifySendError('already known: invalid nonce; got 9, expected 8').reason).toBe('alreadyKnown')
  })

  test('give no hint where JavaScript has no exact integer for them', () => {
    const message = 'nonce too low: next nonce 99999999999999999999, tx nonce 5'
    expect(classifySendError(message)).toStrictEqual({
      outcome: 'refused',
      reason: 'nonceTooLow',
      counted: false,
    })
  })
})
