//! What a load did, by a witness that does not ask iodyno: a disk that logs every request.

mod depth;
