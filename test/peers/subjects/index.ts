import type { Subject } from '../types.js'
import { ethers } from './ethers.js'
import { mud } from './mud.js'
import { txlane } from './txlane.js'
import { viem } from './viem.js'

export const subjects: readonly Subject[] = [txlane, viem, ethers, mud]
