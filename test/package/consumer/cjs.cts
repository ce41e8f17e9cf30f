// What a program in CommonJS sees of the built package.
import devnet = require('txlane/devnet')
import kms = require('txlane/kms')
import txlane = require('txlane')

import type { Chain, Client, LocalAccount, Transport } from 'viem'

declare const client: Client<Transport, Chain, LocalAccount>
const sender = txlane.createSender({ client })
const started: Promise<devnet.Devnet> = devnet.startDevnet()
const code: txlane.TxlaneErrorCode = 'INVALID'

const account: Promise<kms.ServiceAccount<'web3Signer'>> = kms.web3SignerAccount({
  url: 'http://web3signer:9000',
})

export = { sender, started, code, account }
