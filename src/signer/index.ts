export { type NativeAccount, nativeAccount, signingEngine } from './nativeAccount.js'
