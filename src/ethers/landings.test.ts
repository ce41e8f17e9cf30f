import { JsonRpcProvider, type Provider, TransactionResponse, type TransactionResponseParams } from 'ethers'
import type { Hash } from 'viem'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { TxlaneError } from '../errors/base.js'
import type { Landed, Sender, Tx } from '../types/index.js'
import { fateOf } from './errors.js'
import { createLandings, type Landings } from './landings.js'
import { laneProvider } from './laneProvider.js'

const HASH: Hash = `0x${'aa'.repeat(32)}`
const OTHER: Hash = `0x${'bb'.repeat(32)}`
const AT = '0x00000000000000000000000000000000000000AA'

/** A transaction whose end is controlled by the test. */
function scripted() {
  let settle: (landed: Landed) => void = () => {}
  let fail: (error: unknown) => void = () => {}
  const over = new Promise<Landed>((resolve, reject) => {
    settle = resolve
    fail = reject
  })
  over.catch(() => {})
  const waits: AbortSignal[] = []
  const tx = {
    stage: 'accepted',
    wait: (_: string, { signal }: { signal?: AbortSignal }) => {
      if (signal === undefined) return over
      waits.push(signal)
      const aborted = new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      })
      return Promise.race([over, aborted])
    },
  }
  return { tx: tx as { stage: string } & Tx, waits, settle: (landed: Landed) => settle(landed), fail }
}

function landedAt(nonce: number, contractAddress: string | null = null): Landed {
  const receipt = {
    to: contractAddress === null ? AT : null,
    from: AT,
    contractAddress,
    transactionHash: OTHER,
    transactionIndex: 0,
    blockHash: HASH,
    blockNumber: 7n,
    logsBloom: '0x',
    logs: [],
    gasUsed: 1n,
    cumulativeGasUsed: 1n,
    effectiveGasPrice: 1n,
    type: 'eip1559',
    status: 'success',
  }
  return { id: 'a', nonce, hash: OTHER, stage: 'sealed', status: 'success', receipt } as unknown as Landed
}

describe('errors of a lane for callers that wait by a hash', () => {
  let provider: JsonRpcProvider
  let view: Provider
  let landings: Landings
  let one: ReturnType<typeof scripted>
  let closed: TxlaneError | undefined

  beforeEach(() => {
    one = scripted()
    provider = new JsonRpcProvider('http://127.0.0.1:1', 1, { staticNetwork: true })
    Object.assign(provider, { getBlockNumber: async () => 7 })
    closed = undefined
    const get = async ({ hash }: { hash: Hash }) => {
      if (closed) throw closed
      return hash === HASH ? one.tx : undefined
    }
    landings = createLandings({ get } as unknown as Sender)
    view = laneProvider(provider, landings)
  })
  afterEach(() => provider.destroy())

  const response = (fields: object = {}) =>
    new TransactionResponse({ hash: HASH, to: AT, nonce: 1, ...fields } as TransactionResponseParams, view)

  test('every error without an ethers equivalent is passed on unchanged', async () => {
    const waited = response().wait()
    const error = new TxlaneError('unknown', { code: 'UNRESOLVED', fate: 'inFlight' })
    one.fail(error)
    await expect(waited).rejects.toBe(error)
    await expect(response().wait()).rejects.toBe(error)
  })

  test('an unreadable receipt is passed on unchanged', async () => {
    const waited = response().wait()
    const landed = landedAt(1)
    Object.assign(landed.receipt as object, { from: '0x12' })
    one.settle(landed)
    await expect(waited).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  test('a listener without a parameter is called for a landing, and for no other end', async () => {
    const reported: string[] = []
    await view.on(HASH, () => void reported.push('landed'))
    await view.once(HASH, (receipt: { hash: string }) => void reported.push(receipt.hash))
    const waited = response().wait()
    one.settle(landedAt(1))
    await waited
    expect(reported).toEqual(['landed', OTHER])

    one = scripted()
    await view.on(HASH, () => void reported.push('landed'))
    await view.on(HASH, (receipt: { hash: string }) => void reported.push(receipt.hash))
    const failed = response().wait()
    one.fail(new TxlaneError('cancelled', { code: 'CANCELLED', fate: 'notExecuted' }))
    await expect(failed).rejects.toMatchObject({ code: 'TRANSACTION_REPLACED' })
    expect(reported).toEqual(['landed', OTHER])
  })

  test('a removed listener waits for nothing any more', async () => {
    const reported: unknown[] = []
    const listener = (receipt: unknown) => void reported.push(receipt)
    await view.on(HASH, listener)
    await view.off(HASH, listener)
    await view.on(HASH, listener)
    await view.on(HASH, () => void reported.push('other'))
    // Its lookup has ended once a later one has.
    await view.getTransactionReceipt(HASH)
    await view.off(HASH)
    expect(one.waits.map(({ aborted }) => aborted)).toEqual([true, true])
    one.settle(landedAt(1))
    await response().wait()
    expect(reported).toEqual([])
  })

  test('a contract deployed at another nonce than the one for its address is no success', async () => {
    const sent = response({ to: null })
    landings.onResponse(one.tx, sent)
    const waited = sent.wait().catch((error: unknown) => error)
    one.settle(landedAt(2, AT))
    const error = (await waited) as { receipt: { contractAddress: string } }
    expect(error).toMatchObject({ code: 'TRANSACTION_REPLACED', reason: 'repriced', cancelled: false })
    expect(error.receipt.contractAddress).toBe(AT)
    expect(fateOf(error)).toBe('executed')
    // It has no receipt after it is sealed either.
    one.tx.stage = 'sealed'
    expect(await view.getTransactionReceipt(HASH)).toBeNull()
    await expect(sent.wait()).rejects.toMatchObject({ code: 'TRANSACTION_REPLACED' })
  })

  test('a transaction that landed at its expected nonce is a success, also for a contract', async () => {
    const sent = response({ to: null })
    landings.onResponse(one.tx, sent)
    one.settle(landedAt(1, AT))
    expect(await sent.wait()).toMatchObject({ contractAddress: AT, status: 1 })
    const transfer = response()
    landings.onResponse(one.tx, transfer)
    expect(await transfer.wait()).toMatchObject({ hash: OTHER })
  })

  test('for a closed lane the provider is asked, and further waits get an error', async () => {
    const receipts: Record<string, object | null> = { [HASH]: null, [OTHER]: { hash: OTHER } }
    const asked: string[] = []
    Object.assign(provider, {
      getTransactionReceipt: async (hash: string) => receipts[hash],
      waitForTransaction: async (hash: string) => void asked.push(hash),
    })
    const sent = response()
    landings.onResponse(one.tx, sent)
    closed = new TxlaneError('closed', { code: 'CLOSED', fate: 'inFlight' })
    await expect(sent.wait()).rejects.toBe(closed)
    await expect(view.waitForTransaction(HASH)).rejects.toBe(closed)
    expect(await view.getTransactionReceipt(OTHER)).toBe(receipts[OTHER])
    await view.waitForTransaction(OTHER)
    expect(asked).toEqual([OTHER])
    receipts[HASH] = { hash: HASH, status: 1, confirmations: async () => 1 }
    expect(await sent.wait()).toBe(receipts[HASH])
  })

  test('a lagging provider delays no caller', async () => {
    Object.assign(provider, { getBlockNumber: async () => 3 })
    one.settle(landedAt(1))
    one.tx.stage = 'sealed'
    expect(await response().wait()).toMatchObject({ blockNumber: 7 })
    expect(await (await view.getTransactionReceipt(HASH))?.confirmations()).toBe(1)
  })
})
