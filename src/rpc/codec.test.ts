import { describe, expect, test } from 'vitest'
import {
  decodeCode,
  decodeHeader,
  decodeNumber,
  decodeQuantity,
  decodeWord,
  encodeBlock,
  isLatestBlock,
  type LightHeader,
  sameContents,
} from './codec.js'

const hashOf = (digit: string) => `0x${digit.repeat(64)}` as const
const sealed = {
  number: '0x10',
  hash: hashOf('a'),
  parentHash: hashOf('b'),
  timestamp: '0x6553f100',
  baseFeePerGas: '0x7',
  gasLimit: '0x1c9c380',
  gasUsed: '0x5208',
  transactions: [hashOf('1'), hashOf('2')],
}
const header = (fields: object) => decodeHeader({ ...sealed, ...fields }) as LightHeader

describe('a block selector', () => {
  test.each([
    ['0x10', '0x10'],
    ['0x0010', '0x10'],
    ['0XFF'.toLowerCase(), '0xff'],
    [16n, '0x10'],
    [16, '0x10'],
    [0, '0x0'],
    [2n ** 64n - 1n, '0xffffffffffffffff'],
    ['latest', 'latest'],
    ['pending', 'pending'],
    ['safe', 'safe'],
    ['finalized', 'finalized'],
    ['earliest', 'earliest'],
  ] as const)('%s is encoded as %s', (selector, wire) => {
    expect(encodeBlock(selector as never)).toBe(wire)
  })

  test.each([
    '',
    '0x',
    'newest',
    '10',
    '0xzz',
    hashOf('a'),
    -1,
    -1n,
    1.5,
    Number.NaN,
    2n ** 64n,
    null,
    undefined,
    {},
  ])('is INVALID if it is malformed (%s), and the error names the argument', (selector) => {
    expect(() => encodeBlock(selector as never)).toThrow(
      expect.objectContaining({ code: 'INVALID', message: expect.stringContaining('Invalid block') }),
    )
  })
})

describe('a header', () => {
  test('of a sealed block is decoded with its hashes', () => {
    expect(decodeHeader(sealed)).toEqual({
      number: 16,
      hash: hashOf('a'),
      parentHash: hashOf('b'),
      timestamp: 0x6553f100,
      baseFeePerGas: 7n,
      gasLimit: 30_000_000n,
      gasUsed: 21_000n,
      hashes: [hashOf('1'), hashOf('2')],
    })
  })

  test('is null if no block was found', () => {
    expect(decodeHeader(null)).toBeNull()
  })

  test('has milliseconds if they are those of its second', () => {
    const ms = 0x6553f100 * 1_000
    const timestampMsOf = (timestampMs: unknown) => header({ timestampMs }).timestampMs
    expect(timestampMsOf(`0x${(ms + 200).toString(16)}`)).toBe(ms + 200)
    for (const odd of [undefined, null, 'soon', 200, '0xc8', `0x${(ms + 1_000).toString(16)}`])
      expect(timestampMsOf(odd)).toBeUndefined()
  })

  test.each([
    ['null', null],
    ['missing', undefined],
    ['32 zero bytes', hashOf('0')],
  ])('of a pending block may have a hash that is %s', (_, hash) => {
    expect(header({ hash }).hash).toBeNull()
  })

  test('of a pending block may lack its number and its size', () => {
    expect(header({ number: null, size: undefined }).number).toBeNull()
  })

  test('of a legacy chain has no base fee', () => {
    expect(header({ baseFeePerGas: undefined }).baseFeePerGas).toBeUndefined()
  })

  test('takes the hashes from full transaction objects, and converts them to lower case', () => {
    const transactions = [{ hash: hashOf('A'), from: '0x1' }, hashOf('2')]
    expect(header({ transactions }).hashes).toEqual([hashOf('a'), hashOf('2')])
  })

  test('with a thousand hashes is decoded without copying them', () => {
    const transactions = Array.from({ length: 1000 }, () => hashOf('3'))
    expect(header({ transactions }).hashes).toBe(transactions)
  })

  test.each([
    ['number', '16'],
    ['hash', '0x12'],
    ['parentHash', null],
    ['timestamp', 1700000000],
    ['gasLimit', '0x'],
    ['gasUsed', undefined],
    ['transactions', {}],
    ['transactions', [5]],
  ])('with an invalid %s (%s) is an error that names the method and the field', (field, value) => {
    expect(() => header({ [field]: value })).toThrow(
      expect.objectContaining({
        failure: 'malformed',
        method: 'eth_getBlockByNumber',
        message: expect.stringMatching(field === 'transactions' ? /transaction/ : new RegExp(field)),
      }),
    )
  })

  test.each([undefined, 'latest', 5, [], true])('that is %s is an error, never a crash', (result) => {
    expect(() => decodeHeader(result)).toThrow(expect.objectContaining({ name: 'TxlaneError' }))
  })
})

describe('a quantity', () => {
  test.each(['0x', '5', '', '0xg', 5, null, undefined, {}, '0x-1'])(
    'is an error that names the method if it is %s',
    (value) => {
      expect(() => decodeQuantity(value, 'eth_chainId')).toThrow(
        expect.objectContaining({ method: 'eth_chainId' }),
      )
      expect(() => decodeNumber(value, 'eth_chainId')).toThrow(
        expect.objectContaining({ method: 'eth_chainId' }),
      )
    },
  )

  test('above 2^53 is no number', () => {
    expect(() => decodeNumber('0x20000000000000', 'm')).toThrow(expect.objectContaining({ method: 'm' }))
  })
})

describe('a word of storage', () => {
  test("is zero for Ganache's 0x of an unset slot, as in viem", () => {
    expect(decodeWord('0x', 'eth_getStorageAt')).toBe(hashOf('0'))
  })

  test('may lack leading zeros, and may have an odd number of digits', () => {
    expect(decodeWord('0x5', 'eth_getStorageAt')).toBe(`0x${'0'.repeat(63)}5`)
    expect(decodeWord('0xABCD', 'eth_getStorageAt')).toBe(`0x${'0'.repeat(60)}abcd`)
    expect(decodeWord(hashOf('f'), 'eth_getStorageAt')).toBe(hashOf('f'))
  })

  test.each(['', '5', '0xg', `${hashOf('1')}0`, null, undefined, 5, {}])(
    'is invalid if it is %j',
    (value) => {
      expect(() => decodeWord(value, 'eth_getStorageAt')).toThrow('eth_getStorageAt')
    },
  )
})

describe('the code of an account', () => {
  test('is empty for both 0x and 0x0', () => {
    expect(decodeCode('0x', 'eth_getCode')).toBe('0x')
    expect(decodeCode('0x0', 'eth_getCode')).toBe('0x')
    expect(decodeCode('0xEF01', 'eth_getCode')).toBe('0xef01')
  })

  test.each(['0x1', '', null])('%j is malformed', (value) => {
    expect(() => decodeCode(value, 'eth_getCode')).toThrow('eth_getCode')
  })
})

describe('two readings of the pending block', () => {
  test('are the same with the same partial hash, and differ with another', () => {
    expect(sameContents(header({}), header({}))).toBe(true)
    expect(sameContents(header({}), header({ hash: hashOf('c') }))).toBe(false)
  })

  test('without a hash are compared by their contents', () => {
    const bare = { hash: null }
    expect(sameContents(header(bare), header(bare))).toBe(true)
    expect(sameContents(header(bare), header({ ...bare, transactions: [hashOf('1'), hashOf('3')] }))).toBe(
      false,
    )
    expect(sameContents(header(bare), header({ ...bare, gasUsed: '0x5209' }))).toBe(false)
  })
})

describe('the pending block is the latest one', () => {
  test('is recognised by its hash, if it has one', () => {
    expect(isLatestBlock(header({}), header({}))).toBe(true)
    expect(isLatestBlock(header({ hash: hashOf('c') }), header({}))).toBe(false)
    expect(isLatestBlock(header({ number: '0x11' }), header({}))).toBe(false)
  })

  test.each([
    ['another number', { number: '0x11' }],
    ['another parent', { parentHash: hashOf('c') }],
    ['other contents', { transactions: [hashOf('1'), hashOf('3')] }],
    ['other gas', { gasUsed: '0x5209' }],
  ])(
    'is recognised by its parent and its contents if its hash is missing: %s is another block',
    (_, other) => {
      expect(isLatestBlock(header({ hash: null }), header({}))).toBe(true)
      expect(isLatestBlock(header({ hash: null, ...other }), header({}))).toBe(false)
    },
  )
})
