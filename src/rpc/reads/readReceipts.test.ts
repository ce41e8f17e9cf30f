import { describe, expect, test } from 'vitest'
import { createCallPort, hashOf, type StubAnswer } from '../../../test/contract/stubPort.js'
import { profileOf } from '../profileOf.js'
import { getBlockReceipts } from './getBlockReceipts.js'
import { readReceipts } from './readReceipts.js'

const hashes = ['1', '2', '3', '4'].map(hashOf)
const receipt = (transactionHash: unknown) => ({ transactionHash, gasUsed: '0x5208', status: '0x1' })

function endpoint(blockReceipts: StubAnswer) {
  return createCallPort(({ method, params }) => {
    if (method === 'eth_getBlockReceipts') return blockReceipts
    return { result: params[0] === hashOf('4') ? null : receipt(params[0]) }
  })
}
const methodsOf = (port: ReturnType<typeof endpoint>) =>
  port.batches.map((batch) => batch.map(({ method }) => method))
const byHash = Array(4).fill('eth_getTransactionReceipt')

describe('receipts by hash', () => {
  test('come in one call where the block is known and its receipts are offered', async () => {
    const port = endpoint({ result: hashes.map(receipt) })
    const found = await readReceipts(port, { hashes, block: 7 })
    expect([...found.keys()].sort()).toEqual([...hashes].sort())
    expect(methodsOf(port)).toEqual([['eth_getBlockReceipts']])
  })

  test('come one by one, in one request, where they are not; and the refusal is remembered', async () => {
    const port = endpoint({ failure: { kind: 'http', status: 403, message: 'HTTP 403' } })
    const found = await readReceipts(port, { hashes, block: 7 })
    expect(found.get(hashOf('1'))).toMatchObject({ status: '0x1' })
    expect(found.get(hashOf('4'))).toBeNull()
    expect(profileOf(port).current().blockReceipts).toBe(false)
    await readReceipts(port, { hashes, block: 8 })
    expect(methodsOf(port)).toEqual([['eth_getBlockReceipts'], byHash, byHash])
  })

  test('that the block lacks are asked for one by one', async () => {
    const port = endpoint({ result: hashes.slice(0, 2).map(receipt) })
    await readReceipts(port, { hashes, block: 7 })
    expect(methodsOf(port)).toEqual([
      ['eth_getBlockReceipts'],
      ['eth_getTransactionReceipt', 'eth_getTransactionReceipt'],
    ])
  })
})

describe('the receipts of a block', () => {
  test('are not asked for again from an endpoint that refused, and the error says the same', async () => {
    const port = endpoint({ failure: { kind: 'http', status: 403, message: 'HTTP 403' } })
    const refusal = { code: 'UNSUPPORTED', status: 403, method: 'eth_getBlockReceipts' }
    await expect(getBlockReceipts(port, { block: 'latest' })).rejects.toMatchObject(refusal)
    await expect(getBlockReceipts(port, { block: 'latest' })).rejects.toMatchObject(refusal)
    expect(port.batches).toHaveLength(1)
  })

  test('may lack the block hash before the block is sealed, and keep fields of their own', async () => {
    const port = endpoint({ result: [{ ...receipt(hashOf('1')), blockHash: hashOf('0'), l1Fee: '0x9' }] })
    expect(await getBlockReceipts(port, { block: 'pending' })).toEqual([
      {
        transactionHash: hashOf('1'),
        blockHash: null,
        blockNumber: null,
        status: 'success',
        gasUsed: 21_000n,
        type: undefined,
        l1Fee: '0x9',
      },
    ])
  })
})
