import { type Contract, isError, type TransactionResponse } from 'ethers'
import type { Hash } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fateOf } from '../../src/ethers/index.js'
import { GWEI } from './devnetSupport.js'
import { type EthersWorld, type Hand, method, rejection, startEthersWorld } from './ethersSupport.js'

let world: EthersWorld
beforeAll(async () => {
  world = await startEthersWorld()
})
afterAll(() => world?.end())

// Below the base fee: it stays in the pool until it is bumped, or another transaction takes its nonce.
const CHEAP = { maxFeePerGas: GWEI / 100n, maxPriorityFeePerGas: 1n, gasLimit: 200_000n }

/** One sent by a signer, and one sent by a contract: ethers makes different responses of them. */
const ways: Record<string, (hand: Hand, contract: Contract) => Promise<TransactionResponse>> = {
  signer: ({ signer }) => signer.sendTransaction({ to: signer.address, ...CHEAP }),
  contract: (_, contract) => method(contract, 'set').send(42, CHEAP),
}

const txOf = async (hand: Hand, { hash }: TransactionResponse) => {
  const tx = await hand.sender.get({ hash: hash as Hash })
  if (tx === undefined) throw new Error('the lane does not know it')
  return tx
}

describe.each(Object.keys(ways))('wait, for a transaction that a %s sent', (way) => {
  const send = async (stuckAfterMs?: number) => {
    const hand = world.open(stuckAfterMs === undefined ? {} : { stuckAfterMs })
    const contract = await world.book(hand.signer)
    return { hand, sent: await ways[way]!(hand, contract) }
  }

  test('resolves with the attempt that landed after a bump', async () => {
    const { hand, sent } = await send(100)
    const receipt = await sent.wait()
    expect(receipt).toMatchObject({ status: 1 })
    expect(receipt?.hash).not.toBe(sent.hash)
    const { provider } = hand.signer
    expect((await provider!.getTransactionReceipt(sent.hash))?.hash).toBe(receipt?.hash)
    expect((await provider!.getTransaction(sent.hash))?.hash).toBe(receipt?.hash)
    expect((await provider!.waitForTransaction(sent.hash))?.hash).toBe(receipt?.hash)
    // The caller's own provider does not know the transaction.
    expect(await hand.provider.getTransactionReceipt(sent.hash)).toBeNull()
    expect(await sent.confirmations()).toBeGreaterThan(0)
  })

  test('reports that it was cancelled, and that it may be sent again', async () => {
    const { hand, sent } = await send()
    expect(await sent.wait(0)).toBeNull()
    const waited = rejection(sent.wait())
    await (await txOf(hand, sent)).cancel()
    for (const error of [await waited, await rejection(sent.wait())]) {
      if (!isError(error, 'TRANSACTION_REPLACED')) throw error
      expect(error).toMatchObject({ reason: 'cancelled', cancelled: true, receipt: null })
      expect(error.info?.error).toMatchObject({ code: 'CANCELLED' })
      expect(fateOf(error)).toBe('notExecuted')
    }
  })

  test('reports that it was replaced on request', async () => {
    const { hand, sent } = await send()
    const waited = rejection(sent.wait())
    const tx = await txOf(hand, sent)
    await tx.replace({ to: hand.sender.address, value: 1n, gas: 21_000n })
    const error = await waited
    expect(isError(error, 'TRANSACTION_REPLACED') && error.reason).toBe('replaced')
    expect(fateOf(error)).toBe('notExecuted')
  })

  test('rejects after its timeout, and the transaction continues', async () => {
    const { hand, sent } = await send()
    const error = await rejection(sent.wait(1, 50))
    expect(isError(error, 'TIMEOUT')).toBe(true)
    expect(fateOf(error)).toBe('inFlight')
    await (await txOf(hand, sent)).speedUp({ maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: GWEI })
    expect(await sent.wait(1, 60_000)).toMatchObject({ status: 1 })
  })

  test('rejects when the sender closes: the transaction may still run', async () => {
    const { hand, sent } = await send()
    const waited = rejection(sent.wait())
    await hand.sender.close()
    const error = await waited
    expect(error).toMatchObject({ code: 'CLOSED' })
    expect(fateOf(error)).toBe('inFlight')
  })

  test('counts confirmations', async () => {
    const { hand, sent } = await send(100)
    const receipt = await sent.wait(3)
    expect(await hand.provider.getBlockNumber()).toBeGreaterThanOrEqual(receipt!.blockNumber + 2)
    expect(await receipt!.confirmations()).toBeGreaterThanOrEqual(3)
  })
})

describe('the provider of a lane’s signer', () => {
  test('is the given provider, except for hashes of the lane', async () => {
    const { signer, provider } = world.open()
    const view = signer.provider!
    expect(view).toBeInstanceOf(Object.getPrototypeOf(provider).constructor)
    expect(view.provider).toBe(view)
    expect(await view.getBlockNumber()).toBeGreaterThanOrEqual(0)
    Object.assign(view, { pollingInterval: 70 })
    expect(provider.pollingInterval).toBe(70)
    expect(signer.connect(view).provider).toBe(view)
    expect(signer.connect(provider).provider).toBe(view)
    expect(signer.with({ priority: 1 }).provider).toBe(view)
  })

  test('emits blocks and transactions of others as before', async () => {
    const { signer } = world.open()
    const view = signer.provider!
    const block = new Promise((resolve) => void view.once('block', resolve))
    expect(await block).toBeTypeOf('number')
    const account = world.devnet.accounts.at(-1)!
    const hash = await world.devnet.foreign({ account })
    const heard = new Promise((resolve) => void view.once(hash, resolve))
    expect(await view.waitForTransaction(hash)).toMatchObject({ hash, status: 1 })
    expect(await heard).toMatchObject({ hash })
    expect(await view.getTransactionReceipt(hash)).toMatchObject({ from: account.address })
  })

  test("is asked for the lane's own chain", async () => {
    const { signer, provider } = world.open()
    const elsewhere = provider
    Object.assign(elsewhere, { getNetwork: async () => ({ chainId: 5n }) })
    const error = await rejection(signer.sendTransaction({ to: signer.address }))
    expect(error).toMatchObject({ code: 'CHAIN_MISMATCH', fate: 'notExecuted' })
    const unknown = { code: 'UNSUPPORTED_OPERATION' }
    expect(await rejection(signer.connect(null).sendTransaction({ to: signer.address }))).toMatchObject(
      unknown,
    )
  })
})
