//! Bodies that are packed on their way, in requests and in answers.
//!
//! Mirrors `HttpContentDecompressor` and `HttpContentCompressor` as Elasticsearch 6.8 uses them. Differs from ES: an answer
//! that is written as it comes is not packed, so that nothing of it waits.

use super::error::{Kind, RestError};
use super::receive::Received;
use crate::runtime::budget::NoRoom;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use flate2::Compression;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};
use http_body_util::BodyExt;
use std::io::{Read, Write};

/// Bodies up to this size are packed at once; larger ones on a thread that may take its time.
const SMALL: usize = 64 << 10;

/// How much is unpacked at a time.
const PIECE: usize = 64 << 10;

/// How something is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Gzip,
    /// Deflate in the envelope of zlib, as the standard has it; some clients leave the envelope away.
    Deflate,
}

impl Coding {
    fn name(self) -> &'static str {
        match self {
            Coding::Gzip => "gzip",
            Coding::Deflate => "deflate",
        }
    }

    /// The packing that a request says its body has, if it is one that is known.
    fn of_request(headers: &HeaderMap) -> Option<Self> {
        let name = headers.get(header::CONTENT_ENCODING)?.to_str().ok()?.trim().to_ascii_lowercase();
        match name.as_str() {
            "gzip" | "x-gzip" => Some(Coding::Gzip),
            "deflate" | "x-deflate" => Some(Coding::Deflate),
            _ => None,
        }
    }

    /// The packing that a user likes best, gzip where both are liked alike.
    fn wanted(headers: &HeaderMap) -> Option<Self> {
        let accepted = headers.get(header::ACCEPT_ENCODING)?.to_str().ok()?;
        let (mut any, mut gzip, mut deflate) = (None, None, None);
        for word in accepted.split(',') {
            let (name, quality) = word.split_once(';').unwrap_or((word, ""));
            let quality = quality.trim().strip_prefix("q=").map_or(Some(1.0), |text| text.parse::<f32>().ok());
            let quality = quality.unwrap_or(0.0);
            match name.trim() {
                "*" => any = Some(quality),
                "gzip" | "x-gzip" => gzip = Some(quality),
                "deflate" | "x-deflate" => deflate = Some(quality),
                _ => {}
            }
        }
        let liked = |quality: Option<f32>| quality.or(any).unwrap_or(-1.0);
        let (gzip, deflate) = (liked(gzip), liked(deflate));
        match () {
            () if gzip > 0.0 && gzip >= deflate => Some(Coding::Gzip),
            () if deflate > 0.0 => Some(Coding::Deflate),
            () => None,
        }
    }

    fn pack(self, bytes: &[u8], level: u32) -> std::io::Result<Vec<u8>> {
        let level = Compression::new(level);
        match self {
            Coding::Gzip => {
                let mut packer = GzEncoder::new(Vec::new(), level);
                packer.write_all(bytes)?;
                packer.finish()
            }
            Coding::Deflate => {
                let mut packer = ZlibEncoder::new(Vec::new(), level);
                packer.write_all(bytes)?;
                packer.finish()
            }
        }
    }

    /// What was packed, if it is not more than that many bytes and each piece of it is taken in.
    fn unpack(
        self,
        bytes: &[u8],
        max: u64,
        take: &mut dyn FnMut(usize) -> Result<(), NoRoom>,
    ) -> Result<Vec<u8>, Unfit> {
        let mut unpacker: Box<dyn Read + '_> = match self {
            Coding::Gzip => Box::new(MultiGzDecoder::new(bytes)),
            Coding::Deflate if is_zlib(bytes) => Box::new(ZlibDecoder::new(bytes)),
            Coding::Deflate => Box::new(DeflateDecoder::new(bytes)),
        };
        let (mut unpacked, mut piece) = (Vec::new(), vec![0; PIECE]);
        loop {
            let length = unpacker.read(&mut piece).map_err(|error| self.strange(&error))?;
            if length == 0 {
                return Ok(unpacked);
            }
            if unpacked.len() as u64 + length as u64 > max {
                return Err(Unfit::TooLarge);
            }
            take(length).map_err(Unfit::NoRoom)?;
            unpacked.extend_from_slice(&piece[..length]);
        }
    }

    fn strange(self, error: &std::io::Error) -> Unfit {
        let name = self.name();
        let reason = format!("the body is not packed as its header Content-Encoding says, [{name}]: {error}");
        Unfit::Strange(RestError::new(Kind::IllegalArgument, reason))
    }
}

/// Whether bytes begin with the envelope of zlib, whose first two tell that by what they are together.
fn is_zlib(bytes: &[u8]) -> bool {
    matches!(bytes, [first, second, ..] if first & 0x78 == 0x78 && u16::from_be_bytes([*first, *second]).is_multiple_of(31))
}

/// Why a packed body is not taken.
pub(super) enum Unfit {
    /// It is too large when it is unpacked.
    TooLarge,
    /// There is no memory for it.
    NoRoom(NoRoom),
    /// It is not packed as its headers say.
    Strange(RestError),
}

/// The body of a request as it was before it was packed. What is packed in an unknown way is left as it is.
pub(super) async fn unpacked(headers: &HeaderMap, body: Received, max: u64) -> Result<Received, Unfit> {
    let Some(coding) = Coding::of_request(headers).filter(|_| !body.bytes.is_empty()) else {
        return Ok(body);
    };
    // A small body may become a large one.
    let unpack = move || body.unpacked(|bytes, take| coding.unpack(bytes, max, take));
    let unpacked = tokio::task::spawn_blocking(unpack).await;
    unpacked.unwrap_or_else(|error| Err(Unfit::Strange(RestError::new(Kind::IllegalState, error.to_string()))))
}

/// An answer packed as its user likes it.
pub(super) async fn packed(wanted: &HeaderMap, response: Response<Body>, level: u32) -> Response<Body> {
    let length = response.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    // A tag is that of the bytes as they are.
    let has_own = [header::CONTENT_ENCODING, header::ETAG];
    let is_plain = !has_own.iter().any(|name| response.headers().contains_key(name));
    let (Some(coding), Some(1_usize..), true) = (Coding::wanted(wanted), length, is_plain) else {
        return response;
    };
    let (mut parts, body) = response.into_parts();
    let Ok(body) = body.collect().await.map(http_body_util::Collected::to_bytes) else {
        return super::reply::bare(StatusCode::INTERNAL_SERVER_ERROR);
    };
    let whole = body.clone();
    let bytes = match body.len() {
        ..=SMALL => coding.pack(&body, level),
        _ => {
            let pack = move || coding.pack(&body, level);
            tokio::task::spawn_blocking(pack).await.unwrap_or_else(|error| Err(std::io::Error::other(error)))
        }
    };
    let Ok(bytes) = bytes else {
        return Response::from_parts(parts, Body::from(whole));
    };
    let put = |headers: &mut HeaderMap, name: HeaderName, value| headers.insert(name, value);
    put(&mut parts.headers, header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
    put(&mut parts.headers, header::CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
    Response::from_parts(parts, Body::from(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::budget::Shortage;

    fn wanted(text: &'static str) -> Option<Coding> {
        Coding::wanted(&[(header::ACCEPT_ENCODING, HeaderValue::from_static(text))].into_iter().collect())
    }

    #[test]
    fn the_packing_is_the_one_that_is_liked_best() {
        let cases = [
            ("gzip", Some(Coding::Gzip)),
            ("deflate", Some(Coding::Deflate)),
            ("gzip, deflate, br", Some(Coding::Gzip)),
            ("gzip;q=0.5, deflate", Some(Coding::Deflate)),
            ("gzip;q=0", None),
            ("*", Some(Coding::Gzip)),
            ("*;q=0.1, gzip;q=0", Some(Coding::Deflate)),
            ("identity", None),
            ("br", None),
            ("gzip;q=x", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(wanted(text), expected, "{text}");
        }
    }

    #[test]
    fn what_was_packed_is_what_is_unpacked_unless_it_is_too_large() {
        for coding in [Coding::Gzip, Coding::Deflate] {
            let packed = coding.pack(&[b'x'; 1_000], 3).expect("memory takes all");
            assert!(packed.len() < 100, "{coding:?}");
            let mut taken = 0;
            let mut take = |more| {
                taken += more;
                Ok(())
            };
            assert_eq!(coding.unpack(&packed, 1_000, &mut take).ok(), Some(vec![b'x'; 1_000]), "{coding:?}");
            assert!(matches!(coding.unpack(&packed, 999, &mut take), Err(Unfit::TooLarge)), "{coding:?}");
            assert!(matches!(coding.unpack(b"nonsense", 1_000, &mut take), Err(Unfit::Strange(_))), "{coding:?}");
            assert_eq!(taken, 1_000);
            let shortage = Shortage { wanted: 1_000, allowed: 1 };
            let unfit = coding.unpack(&packed, 1_000, &mut |_| Err(NoRoom::Taken(shortage)));
            assert!(matches!(unfit, Err(Unfit::NoRoom(_))), "{coding:?}");
        }
    }

    #[test]
    fn deflate_is_read_with_and_without_its_envelope() {
        let mut bare = flate2::write::DeflateEncoder::new(Vec::new(), Compression::new(6));
        bare.write_all(b"{\"a\":1}").expect("it is written to memory");
        let bare = bare.finish().expect("it is written to memory");
        let enveloped = Coding::Deflate.pack(b"{\"a\":1}", 6).expect("it is written to memory");
        for packed in [bare, enveloped] {
            let unpacked = Coding::Deflate.unpack(&packed, 100, &mut |_| Ok(())).ok();
            assert_eq!(unpacked.as_deref(), Some(&b"{\"a\":1}"[..]));
        }
    }
}
