import type { Port } from './port.js'
import { createProfile, type ProfileWatch } from './profile.js'

const profiles = new WeakMap<Port, ProfileWatch>()

/** The profile that goes with a port: one for all who use the port, made when first asked for. */
export function profileOf(port: Port): ProfileWatch {
  let profile = profiles.get(port)
  if (profile === undefined) {
    profile = createProfile()
    profiles.set(port, profile)
  }
  return profile
}

/** Puts a profile (one with fields given by the user, say) in the place of the port's own. */
export function setProfile(port: Port, profile: ProfileWatch): void {
  profiles.set(port, profile)
}
