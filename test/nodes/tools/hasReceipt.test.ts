import { expect, test } from 'vitest'
import { hasReceipt } from './accounts.js'

const answering = (answer: () => unknown) => ({ call: async () => answer() })
const failing = (words: string) =>
  answering(() => {
    throw new Error(`eth_getTransactionReceipt: ${words}`)
  })

test('a receipt is there once the node shows it, and not while the node indexes', async () => {
  expect(
    await hasReceipt(
      answering(() => ({ status: '0x1' })),
      '0x01',
    ),
  ).toBe(true)
  expect(
    await hasReceipt(
      answering(() => null),
      '0x01',
    ),
  ).toBe(false)
  expect(await hasReceipt(failing('transaction indexing is in progress'), '0x01')).toBe(false)
  await expect(hasReceipt(failing('internal error'), '0x01')).rejects.toThrow('internal error')
})
