import { createWalletClient, type Hex, http, type LocalAccount } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { createNonceManager, jsonRpc } from 'viem/nonce'
import { nativeAccount } from '../../src/signer/index.js'
import { chainOf, givenTransfer } from '../support/node.js'
import { openSender } from './txlane.js'

export type Opened = {
  readonly send: (number: number) => Promise<unknown>
  readonly close: () => Promise<void>
}

/** A library that sends one transfer at a time, with given gas and fees. */
export type OneByOne = {
  readonly name: string
  readonly account: (privateKey: Hex) => LocalAccount
  open(url: string, privateKey: Hex, account: LocalAccount): Promise<Opened>
}

async function openLane(url: string, privateKey: Hex, account: LocalAccount): Promise<Opened> {
  const sender = openSender({ url, chain: chainOf(url), privateKey }, { account })
  await sender.ready()
  return { send: (number) => sender.send(givenTransfer(number)), close: () => sender.close() }
}

export const txlaneViemKey: OneByOne = {
  name: "txlane, viem's key",
  account: privateKeyToAccount,
  open: openLane,
}

export const txlaneNative: OneByOne = {
  name: 'txlane, nativeAccount',
  account: nativeAccount,
  open: openLane,
}

export const viemOneByOne: OneByOne = {
  name: 'viem',
  account: (privateKey) =>
    privateKeyToAccount(privateKey, { nonceManager: createNonceManager({ source: jsonRpc() }) }),
  async open(url, _, account) {
    const client = createWalletClient({ account, chain: chainOf(url), transport: http(url) })
    const given = (number: number) => ({ ...givenTransfer(number), type: 'eip1559' }) as const
    return { send: (number) => client.sendTransaction(given(number)), close: async () => undefined }
  },
}

export const ONE_BY_ONE: readonly OneByOne[] = [txlaneViemKey, txlaneNative, viemOneByOne]
