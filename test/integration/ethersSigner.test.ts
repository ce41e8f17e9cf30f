import {
  type Contract,
  type ContractTransactionReceipt,
  type EventLog,
  getCreateAddress,
  isCallException,
  isError,
  TransactionReceipt,
} from 'ethers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fateOf } from '../../src/ethers/index.js'
import { bookAbi, type EthersWorld, method, rejection, startEthersWorld } from './ethersSupport.js'

let world: EthersWorld
beforeAll(async () => {
  world = await startEthersWorld()
})
afterAll(() => world?.end())

const GAS = { gasLimit: 200_000n }

describe('a contract of a lane’s signer', () => {
  test('is deployed by a factory at the address that ethers computed', async () => {
    const { sender, signer } = world.open()
    const contract = await world.book(signer)
    const deployment = contract.deploymentTransaction()!
    expect(await contract.getAddress()).toBe(getCreateAddress(deployment))
    expect(await method(contract, 'value')()).toBe(7n)
    expect(await sender.get({ hash: deployment.hash as `0x${string}` })).toMatchObject({ nonce: 0 })
  })

  test('accepts calls as before: they go through the lane, and their receipts have the parsed events', async () => {
    const { sender, signer } = world.open()
    const contract = await world.book(signer)
    const sent = await method(contract, 'set').send(42, { value: 3n })
    expect(sent).toMatchObject({ nonce: 1, from: signer.address, value: 3n, chainId: 31337n })
    const receipt = (await sent.wait()) as ContractTransactionReceipt
    expect(receipt).toBeInstanceOf(TransactionReceipt)
    expect(receipt).toMatchObject({ status: 1, hash: sent.hash, type: 2, contractAddress: null })
    const [event] = receipt.logs as EventLog[]
    expect(event).toMatchObject({ eventName: 'Stored', args: [signer.address, 42n] })
    const found = await contract.queryFilter(contract.filters.Stored!(signer.address, 42))
    expect(found.map(({ transactionHash }) => transactionHash)).toEqual([sent.hash])
    expect((await receipt.getBlock()).transactions).toContain(sent.hash)
    expect(await method(contract, 'value')()).toBe(42n)
    expect(await signer.provider!.getBalance(await contract.getAddress())).toBe(3n)
    expect((await sender.get({ hash: sent.hash as `0x${string}` }))?.stage).toBe('sealed')
  })

  test('lands a burst: nonces follow the order of the calls, and each call runs once', async () => {
    const { signer, asked } = world.open()
    const contract = await world.book(signer)
    const items = Array.from({ length: 50 }, (_, index) => index + 10)
    asked.length = 0
    const sent = await Promise.all(items.map((item) => method(contract, 'set').send(item)))
    expect(sent.map(({ nonce }) => nonce)).toEqual(items.map((_, index) => index + 1))
    // Gas, fees, nonce and bytes come from the lane, so the provider gets no request for them.
    expect(asked).toEqual([])
    const receipts = await Promise.all(sent.map((one) => one.wait()))
    expect(receipts.map((receipt) => receipt?.status)).toEqual(items.map(() => 1))
    expect(new Set(asked)).toEqual(new Set(['eth_blockNumber']))
    const times = await Promise.all(items.map((item) => method(contract, 'times')(item)))
    expect(times).toEqual(items.map(() => 1n))
  })

  test('returns the same results of staticCall and estimateGas as before', async () => {
    const { signer } = world.open()
    const contract = await world.book(signer)
    expect(await method(contract, 'set').estimateGas(9)).toBeGreaterThan(21_000n)
    const refused = await rejection(method(contract, 'set').staticCall(0))
    expect(isCallException(refused) && refused.revert).toMatchObject({ name: 'Refused', args: [0n, 'zero'] })
    expect(fateOf(refused)).toBeUndefined()
    expect(isCallException(await rejection(method(contract, 'set').estimateGas(0)))).toBe(true)
  })
})

describe('a revert found before sending', () => {
  let contract: Contract
  let decoding: Contract
  let cursor: () => Promise<number>
  beforeAll(async () => {
    const { sender, signer } = world.open({ errors: bookAbi })
    decoding = await world.book(signer)
    const plain = world.open()
    contract = decoding.connect(plain.signer) as Contract
    cursor = async () => (await plain.sender.snapshot()).cursor + (await sender.snapshot()).cursor
  })

  test('is the CALL_EXCEPTION that ethers would have thrown, and uses no nonce', async () => {
    const before = await cursor()
    const error = await rejection(method(contract, 'set').send(0))
    if (!isCallException(error)) throw error
    expect(error).toMatchObject({ action: 'estimateGas', revert: null })
    expect(error.transaction).toMatchObject({
      to: await contract.getAddress(),
      data: contract.interface.encodeFunctionData('set', [0]),
    })
    const parsed = contract.interface.parseError(error.data!)
    expect(parsed).toMatchObject({ name: 'Refused', args: [0n, 'zero'] })
    expect(error.info?.error).toMatchObject({ code: 'PREPARE_REVERTED', fate: 'notExecuted' })
    expect(fateOf(error)).toBe('notExecuted')
    expect(await cursor()).toBe(before)
  })

  test('has its reason, if it is one of the standard errors', async () => {
    const one = await rejection(method(contract, 'set').send(1))
    expect(one).toMatchObject({ reason: 'one', revert: { name: 'Error', args: ['one'] } })
    const two = await rejection(method(contract, 'set').send(2))
    expect(two).toMatchObject({ revert: { name: 'Panic', args: [1] } })
  })

  test('has the name and the arguments of a custom error whose ABI the signer knows', async () => {
    const error = await rejection(method(decoding, 'set').send(0))
    if (!isCallException(error)) throw error
    expect(error).toMatchObject({ action: 'estimateGas', invocation: { method: 'set' } })
    expect(error.revert).toMatchObject({ name: 'Refused', args: [0n, 'zero'] })
    expect(fateOf(error)).toBe('notExecuted')
  })
})

test('a revert on the chain rejects wait with CALL_EXCEPTION and the receipt, and its nonce is used', async () => {
  const { sender, signer } = world.open()
  const contract = await world.book(signer)
  for (const send of [
    () => method(contract, 'set').send(0, GAS),
    async () => signer.sendTransaction({ ...(await method(contract, 'set').populateTransaction(0)), ...GAS }),
  ]) {
    const sent = await send()
    const error = await rejection(sent.wait())
    if (!isCallException(error)) throw error
    expect(error.receipt).toMatchObject({ status: 0, hash: sent.hash })
    expect(fateOf(error)).toBe('executed')
    // The second wait resolves at once.
    expect(isCallException(await rejection(sent.wait()))).toBe(true)
    expect(await signer.provider!.waitForTransaction(sent.hash)).toMatchObject({ status: 0 })
  }
  expect((await sender.snapshot()).cursor).toBe(3)
})

test('a transaction that the account cannot pay is INSUFFICIENT_FUNDS, if the sender does not wait for funds', async () => {
  const { signer } = world.open({ starved: 'fail' })
  const error = await rejection(signer.sendTransaction({ to: signer.address, value: 10n ** 30n }))
  expect(isError(error, 'INSUFFICIENT_FUNDS')).toBe(true)
  expect(error).toMatchObject({ info: { error: { code: 'STARVED' } } })
  expect(fateOf(error)).toBe('notExecuted')
})
