import { describe, expect, test } from 'vitest'
import { classifySendError } from './classify.js'

const classify = (message: string) => classifySendError(message)

describe('the layout of a message', () => {
  test.each([
    ['blank lines before the words', `${'\n'.repeat(40)}nonce too low`],
    ['spaces at the end of a line', 'nonce too low \r\n'],
    ['spaces at the start of a line', 'error\n   nonce too low'],
    ['spaces inside of the words', 'nonce  too \t low'],
    ['a number before the words', '32000 nonce too low'],
    ['a negative number before the words', '-32000 nonce too low'],
    ['a number and a comma before the words', '-32000, nonce too low'],
    ['a number and a colon before the words', '-32000 : "nonce too low"'],
    ['a number and brackets before the words', '-32000: [{"nonce too low"}]'],
    ['a code behind the words', 'nonce too low-32000'],
    ['the subject after the words', 'nonce too low for address 0x33'],
    ['the subject after the words, with an article', 'nonce too low for the address 0x33'],
    ['a hash before the words', '0x7f657507aee0511e: nonce too low'],
    ['a request id before the words', '3b1f0c9e-11ab-4c02-9d5e-0242ac120002: nonce too low'],
    ['a sentence of unknown words before the words', 'we tried it at the moon: nonce too low'],
    ['an unknown word in brackets before the words', '[moon] nonce too low'],
  ])('does not hide a refusal: %s', (_, message) => {
    expect({ message, ...classify(message) }).toMatchObject({
      message,
      outcome: 'refused',
      reason: 'nonceTooLow',
    })
  })

  test.each([
    ['a hash', '0x7f657507aee0511e: nonce has max value'],
    ['an id', '3b1f0c9e-11ab-4c02-9d5e-0242ac120002: nonce has max value'],
    ['a number and a comma', '-32000, nonce has max value'],
  ])('does not hide an intrinsic refusal behind %s', (_, message) => {
    expect(classify(message).outcome).toBe('intrinsic')
  })

  test.each([
    ['a contract whose name ends in a digit', 'VaultV2: nonce too low'],
    ['a contract whose name starts like a number of base 16', 'Escrow2: nonce too low'],
    ['a contract whose name has no letter beyond F', 'Facade: nonce too low'],
    ['a contract behind a number and a bracket', '-32000: [ Vault: nonce too low'],
    ['words that a dash and a letter follow', 'already known-issue'],
    ["a result's name inside of the words", 'nonce invalid, too low'],
  ])("does not turn other text into a node's message: %s", (_, message) => {
    expect({ message, ...classify(message) }).toMatchObject({
      message,
      outcome: 'unknown',
      reason: 'unknown',
    })
  })
})

describe('the text of a message', () => {
  test('is read up to 4,096 characters', () => {
    const behindZeros = (chars: number) => classify(`${'0'.repeat(chars)}: nonce too low`).outcome
    const words = ': nonce too low'.length
    expect([behindZeros(4_096 - words), behindZeros(4_096)]).toEqual(['refused', 'unknown'])
  })

  test.each(['', '-32000: '])('is read up to the sixteenth clause of a line, behind "%s"', (number) => {
    const behind = (wrappers: number) => classify(`${number}${'err: '.repeat(wrappers)}nonce too low`).outcome
    expect([behind(15), behind(16)]).toEqual(['refused', 'unknown'])
  })
})

describe("a wrapper's word before a message", () => {
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
  ])('does not change the meaning of the message: each of %s', (_, names) => {
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
  ])('proves no intrinsic refusal if the node may have run a contract: "%s"', (before) => {
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

  test.each(REPLIES)('are read with all their digits: "%s"', (message, reason, expectedNonce, nonceMax) => {
    expect(classifySendError(message)).toStrictEqual({
      outcome: 'refused',
      reason,
      counted: false,
      expectedNonce,
      ...(nonceMax === undefined ? {} : { nonceMax }),
    })
  })

  test("do not classify a nonce equal to the account's as above it", () => {
    expect(classifySendError(`${GANACHE}7 tx has nonce of: 7`).reason).toBe('nonceTooLow')
  })

  test('do not change the reason of a message about another subject', () => {
    expect(classifySendError('already known: invalid nonce; got 9, expected 8').reason).toBe('alreadyKnown')
  })

  test('give no hint if JavaScript cannot represent them exactly', () => {
    const message = 'nonce too low: next nonce 99999999999999999999, tx nonce 5'
    expect(classifySendError(message)).toStrictEqual({
      outcome: 'refused',
      reason: 'nonceTooLow',
      counted: false,
    })
  })
})
