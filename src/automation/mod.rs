//! One run of an image update automation, the same steps for a preview, a command and a controller.
