import { keccak256, recoverAddress, serializeSignature } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { decodeTx } from './decode.js'

const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const common = { chainId: 31_337, nonce: 3, gas: 50_000n, value: 7n, to: account.address } as const
const fees = { maxFeePerGas: 100n, maxPriorityFeePerGas: 9n }

describe('decoding signed bytes', () => {
  test('every transaction type decodes to its hash, its fields, and a digest that recovers to the sender', async () => {
    const authorization = await account.signAuthorization({ chainId: 1, address: account.address, nonce: 4 })
    const raws = [
      await account.signTransaction({ ...common, type: 'legacy', gasPrice: 100n }),
      await account.signTransaction({ ...common, type: 'eip2930', gasPrice: 100n, accessList: [] }),
      await account.signTransaction({ ...common, type: 'eip1559', ...fees }),
      await account.signTransaction({
        ...common,
        type: 'eip7702',
        ...fees,
        authorizationList: [authorization],
      }),
    ]
    for (const raw of raws) {
      const tx = decodeTx(raw)!
      expect(tx).toMatchObject({
        hash: keccak256(raw),
        chainId: 31_337,
        nonce: 3,
        gas: 50_000n,
        maxFeePerGas: 100n,
      })
      const { digest, r, s, yParity } = tx.signature
      const signature = serializeSignature({ r, s, yParity })
      expect(await recoverAddress({ hash: digest, signature })).toBe(account.address)
      for (const one of tx.authorizations) {
        const signed = serializeSignature({ r: one.r, s: one.s, yParity: one.yParity })
        expect(await recoverAddress({ hash: one.digest, signature: signed })).toBe(account.address)
      }
    }
  })

  test('bytes that are not a signed transaction decode to undefined', () => {
    for (const raw of [undefined, 7, '', '0x', '0xzz', '0x02c0', `0x02${'ff'.repeat(40)}`]) {
      expect(decodeTx(raw)).toBeUndefined()
    }
  })
})
