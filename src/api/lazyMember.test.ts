import { createClient, defineChain, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { createLanes, createSender } from '../index.js'

const chain = defineChain({
  id: 31_337,
  name: 'Nowhere',
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: { default: { http: ['http://127.0.0.1:9'] } },
})
const client = createClient({ chain, transport: http('http://127.0.0.1:9', { retryCount: 0 }) })
const accounts = [1, 2].map((digit) => privateKeyToAccount(`0x${String(digit).repeat(64)}`))
const [account, other] = accounts as [(typeof accounts)[number], (typeof accounts)[number]]
const openLanes = () => createLanes({ chains: [{ client }] })

test('a sender of createLanes has every member of a sender of createSender', async () => {
  await using lanes = openLanes()
  const lazy = lanes.sender({ chainId: chain.id, account })
  await using sender = createSender({ client, account })
  for (const name of Reflect.ownKeys(sender)) expect(name in lazy, String(name)).toBe(true)
  expect(lazy).toMatchObject({ address: account.address, chain })
})

test('each account has one sender until that sender is closed', async () => {
  await using lanes = openLanes()
  const first = lanes.sender({ chainId: chain.id, account })
  expect(lanes.sender({ chainId: chain.id, account })).toBe(first)
  expect(lanes.sender({ chainId: chain.id, account: other })).not.toBe(first)
  await first.close()
  expect(lanes.sender({ chainId: chain.id, account })).not.toBe(first)
})

test('its methods can be detached, and are the same each time', async () => {
  await using lanes = openLanes()
  const { send, on } = lanes.sender({ chainId: chain.id, account })
  expect(lanes.sender({ chainId: chain.id, account }).send).toBe(send)
  expect(on('held', () => {})).toBeTypeOf('function')
  await expect(send({ to: '0x1' as never })).rejects.toMatchObject({ code: 'INVALID' })
})

test('after the lanes are closed, a sender that was never used is closed too', async () => {
  const lanes = openLanes()
  const sender = lanes.sender({ chainId: chain.id, account })
  await lanes.close()
  await expect(sender.ready()).rejects.toMatchObject({ code: 'CLOSED' })
  expect(() => lanes.sender({ chainId: chain.id, account })).toThrow('closed')
})
