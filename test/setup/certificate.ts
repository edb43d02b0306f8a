/**
 * A certificate that nobody trusts but tests that say so, for receiver.example and 127.0.0.1, until 2126. Made by
 *
 *   openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj /CN=receiver.example \\
 *     -addext subjectAltName=DNS:receiver.example,DNS:*.receiver.example,IP:127.0.0.1
 */
export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBxjCCAWygAwIBAgIUcj5ZPcPxBDJhgc9sp45Xx7VTn4EwCgYIKoZIzj0EAwIw
GzEZMBcGA1UEAwwQcmVjZWl2ZXIuZXhhbXBsZTAgFw0yNjExMjMwNjE1MDNaGA8y
MTI2MTAzMDA2MTUwM1owGzEZMBcGA1UEAwwQcmVjZWl2ZXIuZXhhbXBsZTBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABHl/SbEbYChqQETRgJ+A77mlDqi6DjZBKbAt
xX4aGXZ4IViw+iGuzNMsfm4mm5W7Nd3ePHWV5artl62EYeSNFrGjgYswgYgwHQYD
VR0OBBYEFMclpUJ3PA1QknEKGQfA0ZgknLH/MB8GA1UdIwQYMBaAFMclpUJ3PA1Q
knEKGQfA0ZgknLH/MA8GA1UdEwEB/wQFMAMBAf8wNQYDVR0RBC4wLIIQcmVjZWl2
ZXIuZXhhbXBsZYISKi5yZWNlaXZlci5leGFtcGxlhwR/AAABMAoGCCqGSM49BAMC
A0gAMEUCID53wD97p0oNaAGMUTbRl7WeuEIu7KG12a4j7Lhb44hyAiEA7idI/Lkm
iCLz25U34Ero57eZXay8B/kdXXLpIDbsVBE=
-----END CERTIFICATE-----
`

export const CERTIFICATE_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgkQ5visHYwkKkNVV0
VUHSJ52WsXM0DEAw6/IYvb87qNehRANCAAR5f0mxG2AoakBE0YCfgO+5pQ6oug42
QSmwLcV+Ghl2eCFYsPohrszTLH5uJpuVuzXd3jx1leWq7ZethGHkjRax
-----END PRIVATE KEY-----
`
