import { describe, expect, test } from 'vitest'
import { classifySendError } from './classify.js'

const tell = (message: string) => classifySendError(message)

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
    expect({ message, ...tell(message) }).toMatchObject({
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
    expect(tell(message).outcome).toBe('intrinsic')
  })

  test.each([
    ['a contract whose name ends in a digit', 'VaultV2: nonce too low'],
    ['a contract whose name starts like a number of base 16', 'Escrow2: nonce too low'],
    ['a contract whose name has no letter beyond F', 'Facade: nonce too low'],
    ['a contract behind a number and a bracket', '-32000: [ Vault: nonce too low'],
    ['words that a dash and a letter follow', 'already known-issue'],
    ["a result's name inside of the words", 'nonce invalid, too low'],
  ])("does not turn other text into a node's message: %s", (_, message) => {
    expect({ message, ...tell(message) }).toMatchObject({ message, outcome: 'unknown', reason: 'unknown' })
  })
})

describe('the text of a message', () => {
  test('is read up to 4,096 characters', () => {
    const behindZeros = (chars: number) => tell(`${'0'.repeat(chars)}: nonce too low`).outcome
    const words = ': nonce too low'.length
    expect([behindZeros(4_096 - words), behindZeros(4_096)]).toEqual(['refused', 'unknown'])
  })

  test.each(['', '-32000: '])('is read up to the sixteenth clause of a line, behind "%s"', (number) => {
    const behind = (wrappers: number) => tell(`${number}${'err: '.repeat(wrappers)}nonce too low`).outcome
    expect([behind(15), behind(16)]).toEqual(['refused', 'unknown'])
  })
})
