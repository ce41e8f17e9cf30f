import type { Address } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { expect } from 'vitest'
import { topUp } from './bot.js'
import { test } from './fixture.js'

const stranger = (): Address => privateKeyToAddress(generatePrivateKey())
const round = { round: 'monday', floor: 5n, amount: 7n }

test('wallets below the floor get the amount, and the others nothing', async ({
  devnet,
  sender,
  account,
}) => {
  const [low, rich] = [stranger(), account.address]
  expect(await topUp(sender, devnet.client(), [low, rich], round)).toEqual([low])
  expect(await devnet.client().getBalance({ address: low })).toBe(7n)
})

test('pays each wallet once although answers are lost', async ({ devnet, sender }) => {
  const wallets = Array.from({ length: 10 }, stranger)
  devnet.faults.inject({ fault: 'lostResponse', count: 3, method: 'eth_sendRawTransaction' })
  await topUp(sender, devnet.client(), wallets, round)
  const client = devnet.client()
  const balances = await Promise.all(wallets.map((address) => client.getBalance({ address })))
  expect(balances).toEqual(wallets.map(() => 7n))
})

test('pays each wallet once in a repeated round, although another wallet takes a nonce', async ({
  devnet,
  sender,
}) => {
  const wallets = [stranger(), stranger()]
  devnet.faults.inject({ fault: 'foreign', count: 1, method: 'eth_sendRawTransaction' })
  // Every wallet stays below this floor.
  const always = { ...round, floor: 100n }
  await topUp(sender, devnet.client(), wallets, always)
  await topUp(sender, devnet.client(), wallets, always)
  for (const address of wallets) expect(await devnet.client().getBalance({ address })).toBe(7n)
})
