import { describe, expect, test } from 'vitest'
import { createCallPort, createStubPort, hashOf, type StubAnswer } from '../../../test/contract/stubPort.js'
import { profileOf } from '../profile.js'
import { getBlockReceipts } from './getBlockReceipts.js'
import { isReceiptError, readReceipts } from './receipts.js'

const hashes = ['1', '2', '3', '4'].map(hashOf)
const wanted = hashes.map((hash) => ({ hash, block: 7 }))
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
  test('are read in one call if the block is known and the endpoint supports block receipts', async () => {
    const port = endpoint({ result: hashes.map(receipt) })
    const found = await readReceipts(port, { wanted })
    expect([...found.keys()].sort()).toEqual([...hashes].sort())
    expect(methodsOf(port)).toEqual([['eth_getBlockReceipts']])
  })

  test('are read one by one, in one request, if it does not; the refusal is remembered', async () => {
    const port = endpoint({ failure: { kind: 'http', status: 403, message: 'HTTP 403' } })
    const found = await readReceipts(port, { wanted })
    expect(found.get(hashOf('1'))).toMatchObject({ status: '0x1' })
    expect(found.get(hashOf('4'))).toBeNull()
    expect(profileOf(port).current().blockReceipts).toBe(false)
    await readReceipts(port, { wanted: hashes.map((hash) => ({ hash, block: 8 })) })
    expect(methodsOf(port)).toEqual([['eth_getBlockReceipts'], byHash, byHash])
  })

  test('that the block lacks are read one by one', async () => {
    const port = endpoint({ result: hashes.slice(0, 2).map(receipt) })
    await readReceipts(port, { wanted })
    expect(methodsOf(port)).toEqual([
      ['eth_getBlockReceipts'],
      ['eth_getTransactionReceipt', 'eth_getTransactionReceipt'],
    ])
  })

  test('do not fail together with one that the endpoint fails at, whose error is kept', async () => {
    const port = createCallPort(({ params }) =>
      params[0] === hashOf('1')
        ? { failure: { kind: 'rpc', code: -32000, message: 'transaction indexing is in progress' } }
        : { result: receipt(params[0]) },
    )
    const found = await readReceipts(port, { wanted: hashes.slice(0, 2).map((hash) => ({ hash })) })
    expect(found.get(hashOf('1'))).toMatchObject({
      failure: 'rpc',
      details: expect.stringContaining('indexing'),
    })
    expect(found.get(hashOf('2'))).toMatchObject({ status: '0x1' })
  })

  test('of many blocks are read in one batch, whole blocks beside single receipts', async () => {
    const port = endpoint({ result: hashes.map(receipt) })
    const single = { hash: hashOf('5'), block: 9 }
    const found = await readReceipts(port, { wanted: [...wanted, single] })
    expect(found.size).toBe(5)
    expect(methodsOf(port)).toEqual([['eth_getBlockReceipts', 'eth_getTransactionReceipt']])
  })

  test('are read by hash at once from an endpoint that forbids a batch with block receipts', async () => {
    const forbidden = { kind: 'http', status: 403, message: 'HTTP 403' } as const
    const port = createStubPort((calls) =>
      calls.some(({ method }) => method === 'eth_getBlockReceipts')
        ? calls.map(() => ({ failure: forbidden }))
        : calls.map(({ params }) => ({ result: receipt(params[0]) })),
    )
    const single = { hash: hashOf('5'), block: 9 }
    const found = await readReceipts(port, { wanted: [...wanted, single] })
    expect([...found.values()].every((one) => one !== null && !isReceiptError(one))).toBe(true)
    expect(port.batches).toHaveLength(2)
  })

  test('are not requested again after a rate limit', async () => {
    const port = endpoint({ failure: { kind: 'http', status: 429, message: 'HTTP 429' } })
    const found = await readReceipts(port, { wanted })
    expect([...found.values()]).toEqual(Array(4).fill(expect.objectContaining({ status: 429 })))
    expect(port.batches).toHaveLength(1)
  })
})

describe('the receipts of a block', () => {
  test('are not requested again from an endpoint that refused, and the error is the same', async () => {
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
        l1Fee: '0x9',
        // viem's formatter has null for each field that the node omits.
        type: null,
        contractAddress: null,
        cumulativeGasUsed: null,
        effectiveGasPrice: null,
        logs: null,
        to: null,
        transactionIndex: null,
      },
    ])
  })
})
